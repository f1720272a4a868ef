// The page: shows the question, the probabilities and the result of a Questionnaire.

function startPage(form) {
  const get = id => document.getElementById(id);
  const percent = share => {
    const text = (100 * share).toFixed(share < 0.0995 || share > 0.9005 ? 1 : 0);
    if (share < 1 && text === "100.0") return ">\u00a099.9\u00a0%";
    return share > 0 && text === "0.0" ? "<\u00a00.1\u00a0%" : `${text}\u00a0%`;
  };
  let talk, confirmed, id, sent;

  function element(tag, text = "", attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  function begin() {
    talk = new Questionnaire(form);
    id = form.log ? crypto.randomUUID() : "";
    sent = "";
    show(true);
  }

  function hint(one) {
    const parts = [];
    if (one.least !== null || one.most !== null) {
      parts.push([one.least === null ? "" : `at least ${shown(one, one.least)}`,
        one.most === null ? "" : `at most ${shown(one, one.most)}`].filter(Boolean).join(", "));
    }
    if (one.low !== null && one.high !== null) {
      const [low, high] = [one.low, one.high].map(end => shown(one, +end.toPrecision(6)));
      parts.push(`in training ${low} to ${high}`);
    }
    return parts.join("; ");
  }

  // One input for a field; returns how to read it: null where it is left empty.
  function showField(one, at, place) {
    const wording = one.question || one.name;
    // Models of earlier versions take any other answer.
    const more = one.zeros === null && one.other === null ? [null] : [];
    if (one.kind === "choice" && one.choices.length <= 8) {
      const set = element("fieldset");
      set.append(element("legend", wording));
      for (const [k, choice] of [...one.choices, ...more].entries()) {
        const label = element("label", "", { class: "choice" });
        const box = element("input", "", { type: "radio", name: `f${at}`, value: k });
        label.append(box, element("span", choice === null ? "None of these" : choice));
        set.append(label);
      }
      place.append(set);
      return () => {
        const chosen = set.querySelector("input:checked");
        return chosen === null ? null : one.choices[chosen.value] ?? other(one);
      };
    }
    const label = element("label", wording, { class: "wording", for: `f${at}` });
    const entry = element("div", "", { class: "entry" });
    const about = element("p", hint(one), { class: "faint", id: `h${at}` });
    let input;
    if (one.kind === "choice") {
      input = element("select", "", { id: `f${at}` });
      input.append(element("option", "Choose", { value: "" }));
      one.choices.forEach((choice, k) => input.append(element("option", choice, { value: k })));
      more.forEach(() =>
        input.append(element("option", "None of these", { value: one.choices.length })));
    } else {
      const mode = one.kind === "number" ? "decimal" : "numeric";
      input = element("input", "", { id: `f${at}`, type: "text", inputmode: mode });
      input.setAttribute("aria-describedby", `h${at} wrong unusual`);
    }
    entry.append(input);
    if (one.unit) entry.append(element("span", one.unit));
    place.append(label, entry, about);
    return () => {
      const text = input.value.trim();
      if (text === "") return null;
      return one.kind === "choice" ? one.choices[text] ?? other(one) : text;
    };
  }

  // A name that no category has.
  function other(one) {
    let name = "other";
    while (one.choices.includes(name)) name += "_";
    return name;
  }

  let readers = [];

  function show(moves) {
    const now = talk.outcome(), question = talk.question;
    confirmed = "";
    get("wrong").textContent = get("unusual").textContent = "";
    get("answer").textContent = "Answer";
    get("form").hidden = question === null;
    get("result").hidden = question !== null;
    get("undo").disabled = get("again").disabled = talk.history.length === 0;
    get("save").hidden = talk.history.length === 0;
    get("fields").replaceChildren();
    if (question !== null) {
      const n = talk.history.length + 1;
      get("count").textContent = `Question ${n} (at most ${form.questions.length})`;
      if (question.fields.length > 1) {
        const text = `${question.name}: leave empty what is not available`;
        get("fields").append(element("p", text, { class: "faint" }));
      }
      readers = question.fields.map((one, at) => showField(one, at, get("fields")));
    } else {
      showResult(now);
    }
    showClasses(now);
    showHistory();
    if (moves && question !== null) get("fields").querySelector("input, select").focus();
    if (moves && question === null) get("result").focus();
    if (question === null) log();
  }

  function showResult(now) {
    const label = form.classes[now.label], share = percent(now.probabilities[now.label]);
    const unanswered = ["sum", "distance"].includes(form.model.kind)
      && talk.history.every(step => step.answers.every(answer => answer === null));
    const why = {
      settled: form.model.kind === "sum"
        ? "No other answer within the range of the training data can change this decision. "
          + "Probabilities could still change: they are for typical answers to what was not asked."
        : "The model needs no more answers.",
      complete: "All questions were asked.",
      budget: "The largest number of answers is reached.",
    }[now.status];
    const heading = unanswered ? "No decision"
      : now.refer ? "A person should decide" : `${form.target}: ${label}`;
    const lines = unanswered ? ["Nothing was answered."] : now.refer
      ? [`No class reaches the probability of ${percent(form.settings.reject)} that was asked for, `
        + `${form.settings.reject_where}; the largest is ${percent(now.largest)}.`, why]
      : [now.reason === null ? `Probability ${share}.`
        : `It decides for ${label} at ${share}: ${now.reason}.`, why];
    get("result").replaceChildren(element("h2", heading), ...lines.map(line => element("p", line)));
  }

  function showClasses(now) {
    const rows = form.classes.map((name, c) => {
      const row = element("div", "", { class: c === now.label ? "class best" : "class" });
      const track = element("div", "", { class: "track", "aria-hidden": "true" });
      const bar = element("div", "", { class: "bar" });
      bar.style.width = `${100 * now.probabilities[c]}%`;
      track.append(bar);
      row.append(element("span", name), track);
      row.append(element("span", percent(now.probabilities[c]), { class: "share" }));
      return row;
    });
    const soFar = talk.question === null ? "Probabilities" : "Probabilities so far";
    get("now").textContent = talk.history.length ? soFar : form.without_answers;
    get("classes").replaceChildren(...rows);
    const best = now.probabilities.indexOf(Math.max(...now.probabilities));
    get("spoken").textContent = talk.history.length
      ? `Most probable: ${form.classes[best]}, ${percent(now.probabilities[best])}.` : "";
  }

  function showHistory() {
    get("past").hidden = talk.history.length === 0;
    const now = talk.outcome();
    get("leading").textContent = `Probability of ${form.classes[now.label]}`;
    const rows = talk.history.map(step => {
      const question = form.questions[step.place], row = element("tr");
      const answers = step.answers.map((answer, at) => {
        if (answer === null) return "not available";
        const one = question.fields[at], { unit } = one;
        if (one.is_percent && typeof answer === "number") return shown(one, answer);
        return unit ? `${answer} ${unit}` : `${answer}`;
      });
      row.append(element("th", question.name, { scope: "row" }), element("td", answers.join(", ")));
      row.append(element("td", percent(step.probabilities[now.label])));
      return row;
    });
    get("history").replaceChildren(...rows);
  }

  function record() {
    return talk.history.map(({ name, answers }) => ({ name, answers }));
  }

  // With --log, the server writes the answers to its file; without it, nothing is ever sent.
  function log() {
    if (!form.log || talk.history.length === 0) return;
    const text = JSON.stringify({ id, answers: record() });
    if (text === sent) return;
    sent = text;
    navigator.sendBeacon(form.log, text);
  }

  function save() {
    const now = talk.outcome();
    const text = JSON.stringify({
      digest: form.digest, answers: record(), status: now.status, refer: now.refer,
      prevalence: form.prevalence,
      label: form.classes[now.label],
      probabilities: Object.fromEntries(form.classes.map((c, k) => [c, now.probabilities[k]])),
    });
    const link = element("a", "", { download: "answers.jsonl" });
    link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/json" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  get("form").addEventListener("submit", event => {
    event.preventDefault();
    get("wrong").textContent = get("unusual").textContent = "";
    const answers = readers.map(read => read());
    try {
      if (answers.every(answer => answer === null)) {
        throw new Error("Give an answer, or choose “Not available”.");
      }
      const unusual = talk.unusual(answers);
      if (unusual.length && confirmed !== JSON.stringify(answers)) {
        confirmed = JSON.stringify(answers);
        get("unusual").textContent = `${unusual.join(" ")} If it is correct, answer again.`;
        get("answer").textContent = "It is correct";
        return;
      }
      talk.answer(answers);
    } catch (error) {
      get("wrong").textContent = error.message;
      get("fields").querySelector("input, select").focus();
      return;
    }
    show(true);
  });
  get("fields").addEventListener("input", () => { get("answer").textContent = "Answer"; });
  get("skip").addEventListener("click", () => { talk.skip(); show(true); });
  get("undo").addEventListener("click", () => { talk.undo(); show(true); });
  get("again").addEventListener("click", () => { log(); begin(); });
  get("save").addEventListener("click", save);
  addEventListener("pagehide", log);
  get("prevalence").textContent = form.prevalence;
  begin();
  return () => talk;
}

const currentTalk = startPage(JSON.parse(document.getElementById("data").textContent));
