"use strict";
(function () {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const at = (id) => document.getElementById(id);
  const fill = (parent, children) => { parent.replaceChildren(...children); };
  const make = (tag, text, attributes) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const name in attributes || {}) element.setAttribute(name, attributes[name]);
    return element;
  };
  const percent = (share, digits) => (100 * share).toFixed(digits) + "\u00a0%";

  // The curve.
  const curve = data.curve, method = at("method"), level = at("level");
  let ring = null;
  const picture = document.querySelector("#curve-picture svg");
  if (picture) {
    ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [name, value] of [["r", 9], ["fill", "none"], ["stroke", "currentColor"], ["stroke-width", 2.5], ["id", "ring"]])
      ring.setAttribute(name, value);
    picture.append(ring);
  }

  function matrix(cells) {
    const n = curve.classes.length;
    if (!curve.has_matrix) {
      const head = make("tr");
      for (const word of ["true class", "predicted class", "rows"]) head.append(make("th", word, {scope: "col"}));
      return [head, ...cells.map(([i, j, rows]) => {
        const row = make("tr");
        row.append(make("th", curve.classes[i], {scope: "row"}), make("td", curve.classes[j]), make("td", rows));
        return row;
      })];
    }
    const counts = Array.from({length: n}, () => Array(n).fill(0));
    for (const [i, j, rows] of cells) counts[i][j] = rows;
    const head = make("tr");
    head.append(make("th", "true \\ predicted", {scope: "col"}));
    for (const label of curve.classes) head.append(make("th", label, {scope: "col"}));
    return [head, ...counts.map((line, i) => {
      const row = make("tr");
      row.append(make("th", curve.classes[i], {scope: "row"}));
      line.forEach((rows, j) => row.append(
        make("td", Number.isInteger(rows) ? rows : rows.toFixed(1), i === j ? {class: "right"} : {})));
      return row;
    })];
  }

  function showLevel() {
    const chosen = curve.methods[method.value], one = chosen.levels[level.value];
    const label = one.label + (chosen.asks ? " per sample" : "");
    at("level-label").textContent = label;
    level.setAttribute("aria-valuetext", label + " features, score " + one.score.toFixed(3));
    let text = "Score " + one.score.toFixed(3) + " ± " + one.error.toFixed(3) + " (standard error)";
    if (one.low !== null) text += "; simultaneous 95\u00a0% lower limit " + one.low.toFixed(3) + ", valid whichever model you pick.";
    if (one.decided !== null)
      text += " Models are compared when they decide by probability; with decisions by expected cost, as in the saved model and the confusion matrix, the score is "
        + one.decided.toFixed(3) + ".";
    at("level-score").textContent = text;
    at("level-is").className = one.is_recommended ? "label good" : "label";
    at("level-is").textContent = one.is_recommended
      ? "This is the recommended model: its honest score is at the top of the page." : "Chosen after seeing the curve.";
    at("level-command-line").hidden = one.is_recommended || one.command === null;
    at("level-command").textContent = one.command || "";
    at("level-features-are").textContent = chosen.on_all_rows
      ? "Features of the model that was trained on all rows, with the proportion of folds that select each."
      : "The features that are selected in most folds, with the proportion of folds.";
    fill(at("level-features"), one.features.map(([place, share]) => {
      const item = make("li");
      item.append(make("bdi", curve.names[place]), " ", make("span", percent(share, 0), {class: "quiet"}));
      return item;
    }));
    const left = one.n_features - one.features.length;
    at("level-more").textContent = left > 0 ? "... and " + left.toLocaleString("en") + " more" : "";
    fill(at("level-matrix"), matrix(one.cells));
    if (ring) {
      const [x, y] = data.points[method.value][level.value];
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
    }
  }

  function showMethod() {
    const levels = curve.methods[method.value].levels;
    level.max = levels.length - 1;
    const recommended = levels.findIndex((one) => one.is_recommended);
    level.value = recommended >= 0 ? recommended : Math.min(level.value, levels.length - 1);
    showLevel();
  }

  method.addEventListener("change", showMethod);
  level.addEventListener("input", showLevel);
  showMethod();
  level.value = curve.start[1];
  showLevel();

  // One class against the rest.
  const clinical = data.clinical, positive = at("positive"), threshold = at("threshold"), prevalence = at("prevalence");
  const usual = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45,
    0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99];
  let shares = usual;

  function wilson(part, whole) {
    if (whole <= 0) return null;
    const z2 = 1.959963984540054 ** 2, share = part / whole, scale = 1 + z2 / whole;
    const center = (share + z2 / (2 * whole)) / scale;
    const half = Math.sqrt(z2) * Math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole)) / scale;
    return [Math.max(0, center - half), Math.min(1, center + half)];
  }

  function put(id, share, interval) {
    const place = at(id);
    place.textContent = share === null ? "-" : percent(share, 1);
    if (interval) place.append(make("span", percent(interval[0], 1) + " to " + percent(interval[1], 1)));
  }

  function showThreshold() {
    const one = clinical.classes[positive.value], t = one.thresholds[threshold.value], pi = shares[prevalence.value];
    const [n, m] = one.totals, hits = one.found[threshold.value], alarms = one.alarms[threshold.value];
    const se = hits / n, sp = 1 - alarms / m;
    // The threshold as a risk at this prevalence, by Bayes' rule.
    const odds = t / (1 - t) * pi / (1 - pi) / (one.assumed / (1 - one.assumed)), risk = odds / (1 + odds);
    const decides = one.decides && Number(threshold.value) === one.start;
    let limit = (decides ? String(Number(t.toPrecision(2))) : t.toFixed(2));
    if (clinical.is_two_class && Math.abs(pi - one.assumed) > 1e-9)
      limit += clinical.is_balanced ? " at equal class frequencies, a risk of " + percent(risk, 1) + " here"
        : " at the model's class frequencies, a risk of " + percent(risk, 1) + " here";
    if (decides) limit += " (the threshold of the model)";
    at("threshold-label").textContent = limit;
    threshold.setAttribute("aria-valuetext", "probability " + limit);
    const told = percent(pi, pi < 0.1 ? 1 : 0) + (Math.abs(pi - one.prevalence) < 1e-9 ? " (as in these data)" : "");
    at("prevalence-label").textContent = told;
    prevalence.setAttribute("aria-valuetext", told);
    put("at-sensitivity", se, wilson(se * one.sizes[0], one.sizes[0]));
    put("at-specificity", sp, wilson(sp * one.sizes[1], one.sizes[1]));
    const yes = se * pi + (1 - sp) * (1 - pi), no = (1 - se) * pi + sp * (1 - pi);
    put("at-ppv", yes > 0 ? se * pi / yes : null);
    put("at-npv", no > 0 ? sp * (1 - pi) / no : null);
    let text = "Of 1,000 cases, " + Math.round(1000 * pi) + " are of class " + one.label + "; the model predicts this class for " + Math.round(1000 * yes)
      + ", of which " + Math.round(1000 * se * pi) + " are right.";
    let benefit = null;
    if (clinical.is_two_class) {
      benefit = se * pi - (1 - sp) * (1 - pi) * odds;
      text += " The threshold is a risk of " + percent(risk, 1) + " at this prevalence; net benefit is for that risk.";
    }
    at("at-benefit").textContent = benefit === null ? "-" : benefit.toFixed(3);
    at("at-meaning").textContent = text;
  }

  function showClass() {
    const one = clinical.classes[positive.value];
    clinical.classes.forEach((_, place) => { at("class-" + place).hidden = String(place) !== positive.value; });
    shares = [...new Set([...usual, one.prevalence, one.shown])].sort((a, b) => a - b);
    prevalence.max = shares.length - 1;
    prevalence.value = shares.indexOf(one.shown);
    threshold.max = one.thresholds.length - 1;
    threshold.value = one.start;
    showThreshold();
  }

  positive.addEventListener("change", showClass);
  threshold.addEventListener("input", showThreshold);
  prevalence.addEventListener("input", showThreshold);
  showClass();
})();
