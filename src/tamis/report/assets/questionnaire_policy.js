// Datum-wise models: the policies of tamis.datumwise, and the conversation itself.

class PolicyEngine {
  constructor(form, answers) {
    Object.assign(this, { questions: form.questions, answers });
    this.model = unpack(form.model);
    this.run = this.model.kind === "forest" ? this.runForest : this.runLinear;
  }

  isMissing(block) {
    return this.answers.has(block) && this.answers.get(block).every(answer => answer === null);
  }

  // Values of the columns, NaN where unknown.
  row() {
    const row = new Map();
    for (const [block, answers] of this.answers) {
      this.questions[block].fields.forEach((one, at) => {
        if (answers[at] === null) return;
        field.encode(one, answers[at]).forEach((value, k) => row.set(one.columns[k], value));
      });
    }
    return this.model.columns.map(j => (row.has(j) ? row.get(j) : NaN));
  }

  decisions() {
    return this.run().decisions;
  }

  next() {
    return this.run().request;
  }

  runForest() {
    const { stages, forests, costs, unit, class_losses: losses, temperature } = this.model;
    const row = this.row();
    let decisions = losses.map(() => 0), hasLearned = true, at = 0, request = null;
    for (;;) {
      const stage = stages[at];
      const { logs, cells } = PolicyEngine.askForest(forests[stage.forest], row);
      if (hasLearned) {
        const top = largest(logs);
        decisions = logs.map(d => (d - top > -EQUAL ? 0 : d - top));
      }
      if (stage.rule.kind === "stop" || !stage.targets.length) break;
      let expected = stage.means.slice();
      if (stage.table !== null) {
        const rows = cells.map(cell => stage.table[stage.row_of[cell]]);
        expected = expected.map((_, move) => sum(rows.map(one => one[move])) / rows.length);
      }
      const inVain = stage.new.map(blocks => blocks.every(block => this.isMissing(block)));
      stage.new.forEach((blocks, move) => {
        const free = blocks.filter(block => this.isMissing(block));
        expected[move] -= unit * sum(free.map(block => costs[block]));
      });
      if (!inVain.every(Boolean)) expected = expected.map((e, m) => (inVain[m] ? Infinity : e));
      const shares = softmax(decisions);
      const stop = (1 - largest(shares)) / sum(shares.map((p, c) => p / losses[c]));
      let move = expected.indexOf(-largest(expected.map(e => -e)));
      let stops = stop <= expected[move];
      if (stage.rule.kind !== "local") {
        if (isFinite(expected[stage.rule.move])) move = stage.rule.move;
        stops = stage.rule.kind === "threshold" && stop <= stage.rule.at;
      }
      if (stops) break;
      const open = stage.new[move].find(block => !this.answers.has(block));
      if (open !== undefined) {
        request = open;
        break;
      }
      hasLearned = !inVain[move];
      at = stage.targets[move];
    }
    return { decisions: decisions.map(d => d / temperature), request };
  }

  static askForest(forest, row) {
    const cells = [], { trees, coarse, prior } = forest;
    if (trees === null) return { logs: prior.map(p => Math.log(Math.max(p, FLOOR))), cells };
    const total = prior.map(() => 0);
    for (const start of trees.offsets.slice(0, -1)) {
      let node = start, cell = null;
      for (;;) {
        const j = trees.feature[node];
        if (cell === null && (j < 0 || trees.n_rows[node] < coarse)) cell = node;
        if (j < 0) break;
        const value = row[j];
        const isSecond = isNaN(value) ? !trees.missing_first[node] : value > trees.threshold[node];
        node = trees.first_child[node] + (isSecond ? 1 : 0);
      }
      cells.push(cell);
      trees.shares[node].forEach((share, c) => { total[c] += share; });
    }
    const logs = total.map(t => Math.log(Math.max(t / cells.length, FLOOR)) / forest.temperature);
    return { logs, cells };
  }

  runLinear() {
    const model = this.model, row = this.row(), n = model.n_classes;
    const scores = model.bias.slice(), taken = model.costs.map((_, b) => this.isMissing(b));
    let money = model.money === null ? null : BigInt(model.money), left = model.max_blocks;
    let request = null;
    while (left > 0) {
      let best = firstLargest(scores.slice(0, n));
      model.costs.forEach((cost, b) => {
        if (taken[b] || (money !== null && BigInt(cost) > money)) return;
        if (scores[n + b] > scores[best]) best = n + b;
      });
      if (best < n) break;
      const block = best - n;
      if (!this.answers.has(block)) {
        request = block;
        break;
      }
      const gain = scores.map(() => 0);
      model.block_of.forEach((owner, j) => {
        if (owner !== block || isNaN(row[j])) return;
        const [low, unit, center] = model.scaling.map(line => line[j]);
        const value = Math.min(Math.max((0.25 * row[j] - low) / unit - center, -FAR), FAR);
        gain.forEach((_, k) => { gain[k] += model.for_known[j][k] + value * model.for_value[j][k]; });
      });
      gain.forEach((g, k) => { scores[k] += g; });
      taken[block] = true;
      left -= 1;
      if (money !== null) money -= BigInt(model.costs[block]);
    }
    const top = largest(scores.slice(0, n));
    const decisions = scores.slice(0, n).map(d => (d - top) / model.temperature);
    return { decisions: decisions.map(d => (d > -EQUAL ? 0 : d)), request };
  }
}

// The conversation. Python: tamis.report.questionnaire.conversation.Questionnaire.
class Questionnaire {
  constructor(form) {
    this.form = form;
    this.after = new After(form.after);
    this.answers = new Map();
    this.history = [];
    const engines = { sum: SumEngine, distance: DistanceEngine };
    this.engine = new (engines[form.model.kind] || PolicyEngine)(form, this.answers);
    this.proceed();
  }

  get question() {
    return this.place === null ? null : this.form.questions[this.place];
  }

  unusual(answers) {
    return this.question.fields
      .map((one, at) => (answers[at] === null ? null : field.unusual(one, answers[at])))
      .filter(sentence => sentence !== null);
  }

  // One answer per field of the question, null where unavailable; all null: skip.
  answer(answers) {
    const read = this.question.fields.map((one, at) => {
      const value = answers[at] === null ? null : field.read(one, answers[at]);
      return value === null || field.isMissing(one, value) ? null : value;
    });
    this.answers.set(this.place, read);
    this.history.push({ place: this.place, name: this.question.name, answers: read });
    this.history[this.history.length - 1].probabilities = this.probabilities();
    this.proceed();
  }

  skip() {
    this.answer(this.question.fields.map(() => null));
  }

  undo() {
    this.answers.delete(this.history.pop().place);
    this.proceed();
  }

  probabilities() {
    return this.after.shares(this.engine.decisions(), this.after.shown);
  }

  outcome() {
    const decisions = this.engine.decisions(), { reject } = this.form.settings;
    const probabilities = this.probabilities(), label = this.after.label(decisions);
    const best = largest(this.after.shares(decisions, this.after.referred));
    const refer = reject !== null && best < reject;
    const first = firstLargest(probabilities), { reasons } = this.form;
    const why = typeof reasons === "string" ? reasons : reasons[label][first];
    const reason = probabilities[label] >= probabilities[first] - EQUAL ? null : why;
    return { status: this.status, label, probabilities, refer, largest: best, reason };
  }

  proceed() {
    const { max_questions: most, reject } = this.form.settings;
    const given = this.history.filter(step => step.answers.some(answer => answer !== null));
    this.place = this.engine.next(reject);
    this.status = "asking";
    if (this.place === null) {
      const isDone = this.history.length === this.form.questions.length;
      this.status = isDone && !(this.engine instanceof PolicyEngine) ? "complete" : "settled";
    } else if (most !== null && given.length >= most) {
      this.place = null;
      this.status = "budget";
    }
  }
}
