"use strict";
// The same conversation as tamis.report.questionnaire.conversation in Python: what to ask, and when to stop.
// A form is what tamis.report.questionnaire.form.make_form writes.

const SLACK = 1e-9, EQUAL = 1e-12, FAR = 1e6, FLOOR = 1e-3;

const sum = values => values.reduce((total, value) => total + value, 0);
const largest = values => values.reduce((best, value) => Math.max(best, value), -Infinity);
const dot = (a, b) => sum(a.map((value, k) => value * b[k]));

function softmax(decisions) {
  const top = largest(decisions);
  const shares = decisions.map(d => Math.exp(d - top));
  const total = sum(shares);
  return shares.map(share => share / total);
}

// Decisions within rounding of the largest count as equal to it.
function snapped(decisions, slack) {
  const top = largest(decisions);
  return decisions.map(d => (top - d <= slack ? top : d));
}

const firstLargest = values => values.indexOf(largest(values));

// Numbers, with infinities that JSON writes as words; arrays that are bytes become lists.
function unpack(value) {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (Array.isArray(value)) return value.map(unpack);
  if (value === null || typeof value !== "object") return value;
  if ("$array" in value && "of" in value) {
    const rows = unpack(value.of);
    return unpack(value.at).map(at => rows[at]);
  }
  if (!("base64" in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpack(item)]));
  }
  const bytes = Uint8Array.from(atob(value.base64), c => c.charCodeAt(0)).buffer;
  const kinds = {
    float64: Float64Array, float32: Float32Array, int64: BigInt64Array, int32: Int32Array,
    int16: Int16Array, int8: Int8Array, bool: Uint8Array,
  };
  let flat = Array.from(new kinds[value.$array](bytes), Number);
  for (const size of value.shape.slice(1).reverse()) {
    const rows = [];
    for (let at = 0; at < flat.length; at += size) rows.push(flat.slice(at, at + size));
    flat = rows;
  }
  return flat;
}

const isNumber = text => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);

// A text with a point instead of a single decimal comma, if training had such commas.
function withPoint(one, text) {
  const match = /^([<>=≤≥\s]*[-+]?\d*),(\d+\s*%?)$/.exec(text);
  if (match === null) return text;
  const plain = `${match[1]}.${match[2]}`;
  if (one.decimal === ",") return plain;
  if (/(^|\D)[1-9]\d{0,2},\d{3}(\D|$)/.test(text)) return text; // 1,234 may mean 1234
  throw new Error(`Write ${plain}, with a point.`);
}

// The number of a text; in a field of percents, 93 and 93 % are 0.93, and 0.93 may be either.
function parse(one, text) {
  const digits = one.is_percent ? text.replace(/\s*%$/, "") : text;
  if (!isNumber(digits)) return NaN;
  const value = Number(digits);
  if (!one.is_percent) return value;
  if (digits === text && value !== 0 && Math.abs(value) <= 1) {
    throw new Error(
      `${text} may mean ${value} % or ${shown(one, value)}: write it with a percent sign.`);
  }
  return value / 100;
}

// A number for people: in percent where they enter percents.
function shown(one, value) {
  return one.is_percent ? `${+(100 * value).toPrecision(12)} %` : String(value);
}

// What a value beyond a detection limit, such as <0.1, is read as; null for another answer.
function limit(one, text) {
  const match = /^([<>≤≥])\s*=?\s*(.*)$/.exec(text);
  const value = match === null ? NaN : parse(one, match[2]);
  if (isNaN(value)) return null;
  if (one.below_detection === "missing") return NaN;
  return one.below_detection === "half" && "<≤".includes(match[1]) && value > 0
    ? value / 2 : value;
}

// What a field makes of an answer. Python: tamis.report.questionnaire.fields.Field.
const field = {
  read(one, answer) {
    if (one.kind === "choice") {
      const word = String(answer).trim();
      if (!word) throw new Error("Choose one of the answers.");
      return word;
    }
    const text = withPoint(one, String(answer).trim());
    if (one.kind !== "count" && limit(one, text) !== null) return text;
    const number = typeof answer === "number" ? answer : parse(one, text);
    if (!(Math.abs(number) <= 1e300)) throw new Error("Enter a number, such as 3.5.");
    const size = one.is_percent ? +(100 * number).toPrecision(12) : number;
    if (one.kind !== "number" && size !== Math.floor(size)) {
      throw new Error("Enter a whole number.");
    }
    if (one.least !== null && number < one.least) {
      throw new Error(`Enter at least ${shown(one, one.least)}.`);
    }
    if (one.most !== null && number > one.most) {
      throw new Error(`Enter at most ${shown(one, one.most)}.`);
    }
    return number;
  },
  // A valid answer that is no choice, as a number.
  number(one, answer) {
    const value = field.read(one, answer);
    return typeof value === "string" ? limit(one, value) : value;
  },
  unusual(one, answer) {
    const value = one.kind === "choice" ? field.read(one, answer) : field.number(one, answer);
    if (one.kind === "choice") {
      if (one.choices.includes(value)) return null;
      const told = "This is none of the answers seen in training";
      return field.isMissing(one, value) ? `${told} and counts as not available.` : `${told}.`;
    }
    const below = one.low !== null && value < one.low;
    const above = one.high !== null && value > one.high;
    if (!below && !above) return null;
    const side = below ? "below" : "above";
    const range = `${shown(one, one.low)} to ${shown(one, one.high)}`;
    return `${shown(one, value)} is ${side} all values seen in training (${range}).`;
  },
  // Whether an answer counts as unavailable.
  isMissing(one, value) {
    if (one.kind !== "choice") return Number.isNaN(field.number(one, value));
    if (one.zeros === null || value === one.other) return false;
    return !one.categories.includes(value) && !one.zeros.includes(value);
  },
  encode(one, answer) {
    if (one.kind === "choice") {
      const word = field.read(one, answer);
      return one.categories.map(c => (c === word ? 1 : 0));
    }
    const value = field.number(one, answer);
    if (one.idf !== null) return [value ? (1 + Math.log(value)) * one.idf : 0];
    return [value];
  },
};

// Probabilities and labels. Python: tamis.report.questionnaire.terms.After.
class After {
  constructor(after) {
    Object.assign(this, after);
  }

  before(decisions) {
    return softmax(decisions.map(d => d / this.temperature));
  }

  // For the class frequencies that the model assumes, or others: logarithms of new over old.
  shares(decisions, change = null) {
    const scale = this.temperature * this.site_temperature;
    return softmax(decisions.map((d, c) =>
      d / scale + this.site_intercept[c] + (change === null ? 0 : change[c])));
  }

  label(decisions) {
    if (this.costs !== null) {
      const shares = this.shares(decisions);
      const expected = this.costs[0].map((_, d) =>
        shares.reduce((sum, p, t) => sum + p * this.costs[t][d], 0));
      return firstLargest(expected.map(cost => -cost));
    }
    if (this.threshold === null) {
      const shares = this.shares(decisions);
      return firstLargest(snapped(shares, EQUAL));
    }
    const shares = this.before(decisions);
    if (shares[this.positive] >= this.threshold) return this.positive;
    return firstLargest(snapped(shares.map((p, c) => (c === this.positive ? -1 : p)), EQUAL));
  }

  // Whether no answer can change the label, nor whether a person decides; margins[c][k] is the
  // smallest decision of class c minus that of class k.
  isSettled(margins, label, reject) {
    const site = this.site_intercept;
    const plain = margins.map(row => row.map(m => m / this.temperature));
    const shown = plain.map((row, c) =>
      row.map((m, k) => m / this.site_temperature + site[c] - site[k]));
    const slack = SLACK * (1 + largest([0, ...shown.flat().filter(isFinite).map(Math.abs)]));
    const others = margins.map((_, k) => k).filter(k => k !== label);
    if (this.costs !== null) {
      if (!isCheapest(this.costs, shown, label)) return false;
    } else if (this.threshold === null) {
      if (others.some(k => shown[label][k] <= slack)) return false;
    } else {
      const [low, high] = shareBounds(plain, this.positive);
      if (label === this.positive) {
        if (low < this.threshold + SLACK) return false;
      } else {
        const rest = others.filter(k => k !== this.positive);
        if (high >= this.threshold - SLACK || rest.some(k => plain[label][k] <= slack)) return false;
      }
    }
    if (reject === null) return true;
    const referred = shown.map((row, c) =>
      row.map((m, k) => m + this.referred[c] - this.referred[k]));
    const bounds = margins.map((_, c) => shareBounds(referred, c));
    return bounds.some(([low]) => low >= reject + SLACK)
      || bounds.every(([, high]) => high < reject - SLACK);
  }
}

// Whether the label has the smallest expected cost for all answers; exact for two classes.
function isCheapest(costs, margins, label) {
  return costs[0].every((_, d) => {
    if (d === label) return true;
    const least = costs.map((row, t) => {
      const more = row[d] - row[label];
      return more === 0 ? 0 : more * Math.exp(more > 0 ? margins[t][label] : -margins[label][t]);
    });
    const size = largest([0, ...least.filter(isFinite).map(Math.abs)]);
    return least.reduce((sum, x) => sum + x, 0) > SLACK * (1 + size);
  });
}

function shareBounds(margins, c) {
  const others = margins.map((_, k) => k).filter(k => k !== c);
  return [
    1 / (1 + sum(others.map(k => Math.exp(-margins[c][k])))),
    1 / (1 + sum(others.map(k => Math.exp(margins[k][c])))),
  ];
}

// Engines have decisions() and next(reject): the place of the next question, or null. `answers` is
// a Map from the place of a question to the answers of its fields.

// Decisions that are sums over features: the rest is asked while it can change the label.
class SumEngine {
  constructor(form, answers) {
    Object.assign(this, { questions: form.questions, model: form.model, answers });
    this.after = new After(form.after);
    this.smallest = form.model.fields.map(one => SumEngine.smallestMargins(one));
  }

  static smallestMargins(one) {
    const classes = one.candidates[0].map((_, c) => c);
    return classes.map(c => classes.map(k => {
      if (one.directions.some(slope => slope[c] - slope[k] < 0)) return -Infinity;
      return -largest(one.candidates.map(term => term[k] - term[c]));
    }));
  }

  static term(curve, x) {
    if (curve.weights) return curve.weights.map(w => w * (x - curve.reference));
    const low = -largest(curve.centers.map(c => -c)), high = largest(curve.centers);
    const reach = 2 ** 20 * (high - low);
    const value = Math.min(Math.max(x, low - reach), high + reach);
    return curve.centers.map(center => -Math.abs(value - center) / curve.unit);
  }

  total(isUsed) {
    const total = this.model.base.slice();
    this.questions.forEach(({ fields: [one] }, at) => {
      if (!isUsed(at)) return;
      const answer = this.answers.has(at) ? this.answers.get(at)[0] : null;
      const values = answer === null ? one.fill : field.encode(one, answer);
      this.model.fields[at].curves.forEach((curve, j) => {
        SumEngine.term(curve, values[j]).forEach((t, c) => { total[c] += t; });
      });
    });
    return total;
  }

  decisions() {
    const total = this.total(() => true);
    return snapped(total, EQUAL * (1 + Math.abs(largest(total))));
  }

  next(reject) {
    const left = this.questions.map((_, at) => at).filter(at => !this.answers.has(at));
    if (!left.length) return null;
    const known = this.total(at => this.answers.has(at));
    const margins = known.map((a, c) => known.map((b, k) =>
      left.reduce((margin, at) => margin + this.smallest[at][c][k], a - b)));
    const label = this.after.label(this.decisions());
    return this.after.isSettled(margins, label, reject) ? null : left[0];
  }
}

// Decisions that are distances of a projection: with a flip risk, typical answers are tried out.
class DistanceEngine {
  constructor(form, answers) {
    Object.assign(this, { questions: form.questions, model: form.model, answers });
    this.after = new After(form.after);
    this.flipRisk = form.settings.flip_risk;
  }

  row() {
    const row = new Map();
    this.questions.forEach(({ fields: [one] }, at) => {
      const answer = this.answers.has(at) ? this.answers.get(at)[0] : null;
      const values = answer === null ? one.fill : field.encode(one, answer);
      one.columns.forEach((j, k) => row.set(j, values[k]));
    });
    return row;
  }

  decide(row) {
    const { columns, mean, scale, weights, centers, dispersion, temperature, distance } = this.model;
    const z = columns.map((j, at) => (row.get(j) - mean[at]) / scale[at]);
    const p = centers[0].map((_, k) => sum(z.map((value, at) => value * weights[at][k])));
    const found = centers.map(center => {
      const away = p.map((value, k) => Math.min(Math.max(value - center[k], -1e100), 1e100));
      if (distance === "l1") return -Math.min(sum(away.map(Math.abs)), 1e100) / dispersion;
      const far = Math.min(Math.sqrt(dot(away, away)), 1e100) / dispersion;
      return -0.5 * far * far;
    });
    const top = largest(found);
    return snapped(found, EQUAL * (1 + Math.abs(top))).map(d => d / temperature);
  }

  decisions() {
    return this.decide(this.row());
  }

  next() {
    const left = this.questions.map((_, at) => at).filter(at => !this.answers.has(at));
    if (!left.length) return null;
    if (this.flipRisk === null) return left[0];
    const row = this.row(), label = this.after.label(this.decide(row));
    const open = new Set(left.flatMap(at => this.questions[at].fields[0].columns));
    const flips = this.model.draws.filter(draw => {
      const tried = new Map(row);
      this.model.columns.forEach((j, at) => { if (open.has(j)) tried.set(j, draw[at]); });
      return this.after.label(this.decide(tried)) !== label;
    });
    return flips.length / this.model.draws.length <= this.flipRisk ? null : left[0];
  }
}
