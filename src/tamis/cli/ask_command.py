"""`tamis ask`: a conversation in the terminal, or on a page of this machine."""

import sys
from pathlib import Path

from tamis.cli.output import check_output
from tamis.cli.predict_command import read_prevalence
from tamis.cli.printing import print_lines, printable, say
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.record import append_line, describe, replay
from tamis.report.questionnaire.run import open_run

# Classes shown after each answer, and choices of a question.
_MOST_CLASSES, _MOST_CHOICES = 4, 12
_WHY = {
    "settled": "No other answer within the training range can change this decision. Probabilities "
    "could still change: they are for typical answers to what was not asked.",
    "flip": "Few typical answers to the other questions would change this decision. Probabilities "
    "are for typical answers to what was not asked.",
    "policy": "The model needs no more answers.",
    "complete": "All questions were asked.",
    "budget": "The limit of --max-questions is reached.",
}


def run(options):
    """Run the command; returns the exit code."""
    log = check_output(options.log, options.run)
    opened = open_run(options.run)
    settings = {
        "max_questions": options.max_questions,
        "reject": options.refer,
        "flip_risk": options.flip_risk,
        "prevalence": read_prevalence(options.prevalence, opened.model),
    }
    if options.web:
        return _serve(opened, settings, log)
    talk = Questionnaire(opened.model, **settings)
    return _Conversation(talk, opened, log).hold()


class _EndOfInput(Exception):
    """There are no more answers."""


class _Conversation:
    """One conversation in the terminal."""

    def __init__(self, talk, opened, log):
        self.talk, self.opened, self.log = talk, opened, log

    def hold(self):
        """Ask until the end; returns the exit code."""
        model = self.opened.model
        lines = [f"Questions about {model.target}. Model {self.opened.digest}."]
        lines += self.opened.about.splitlines() if self.opened.about else []
        lines.append(self.talk.prevalence.sentence())
        lines.append("Answers: a value, ? if it is not available, u to undo, q to quit.")
        print_lines([*lines, f"{self.talk.without_answers}: {self._shares()}"])
        ended = None
        try:
            while (question := self.talk.next_question()) is not None:
                self._ask(question)
        except _EndOfInput:
            ended = "stopped"
            print_lines(["", "The answers end here."])
        except KeyboardInterrupt:
            print_lines([""])
            self._write("interrupted")
            raise
        self._conclude(ended)
        self._write(ended)
        return 0

    def _ask(self, question):
        """Ask one question, and take the answer, the skip or the undo."""
        number, fields = len(self.talk.history) + 1, question.fields
        if len(fields) > 1:
            print_lines([f"{number}. {question.name}: {len(fields)} values"])
        answers, marker = {}, f"{number}. " if len(fields) == 1 else "   "
        for one in fields:
            print_lines([f"{marker}{_wording(one)}"])
            answer = self._read(one)
            if answer is _UNDO:
                self._undo()
                return
            answers[one.name] = answer
        if all(answer is None for answer in answers.values()):
            self.talk.skip()
        else:
            self.talk.answer(answers)
        print_lines([f"   {self._shares()}"])

    def _undo(self):
        if not self.talk.history:
            print_lines(["   There is nothing to undo."])
            return
        name = self.talk.history[-1].name
        self.talk.undo()
        print_lines([f"   Undone: {name}. {self._shares()}"])

    def _read(self, one):
        """A valid answer to a field, None where unavailable, or _UNDO."""
        while True:
            text = _prompt("   > ")
            word = "" if text in one.choices else text  # a choice may be called "u"
            if word in ("q", "quit"):
                raise _EndOfInput
            if word in ("?", "u", "undo"):
                return None if word == "?" else _UNDO
            if not text:
                print_lines(["   Enter a value, or ? if it is not available."])
                continue
            answer = _choice(one, text) if one.kind == "choice" else text
            try:
                answer, sentence = one.read(answer), one.unusual(answer)
            except ValueError as error:
                print_lines([f"   {error}"])
                continue
            if sentence is None or _prompt(f"   {sentence}. Is it correct? [y/N] ") in _YES:
                return answer

    def _shares(self):
        """The probabilities in a line, largest first."""
        now = self.talk.outcome()
        pairs = zip(self.talk.model.classes_.tolist(), now.probabilities, strict=True)
        ranked = sorted(pairs, key=lambda pair: -pair[1])
        shown = ", ".join(f"{label} {_percent(p)}" for label, p in ranked[:_MOST_CLASSES])
        return shown + (", ..." if len(ranked) > _MOST_CLASSES else "")

    def _conclude(self, ended):
        now = self.talk.outcome()
        if now.refer:
            words = (
                f"A person should decide: no class reaches {_percent(self.talk.reject)} "
                f"{self.talk.reject_where}; the largest is {_percent(now.largest)}."
            )
        else:
            words = f"{self.talk.model.target}: {now.label} ({self._shares()})"
            if now.reason is not None:
                share = now.probabilities[self.talk.model.classes_.tolist().index(now.label)]
                why = f"It decides for {now.label} at {_percent(share)}: {now.reason}."
                words = f"{words}\n{why}"
        words = f"With the answers so far: {words}" if ended else words
        lines = (
            words.splitlines() if ended else [*words.splitlines(), _WHY[self._reason(now.status)]]
        )
        if all(step.value is None for step in self.talk.history) and (
            ended or not self.talk.model.asks
        ):  # it would be a decision about a typical row
            lines = ["Nothing was answered, so there is no decision."]
        print_lines(["", *lines])

    def _reason(self, status):
        if status != "settled":
            return status
        if self.talk.model.asks:
            return "policy"
        return "flip" if self.talk.flip_risk is not None else "settled"

    def _write(self, ended):
        if self.log is not None:
            append_line(self.log, describe(self.talk, self.opened.digest, ended=ended))


_UNDO = object()
_YES = ("y", "yes", "Y", "YES", "Yes")


def _prompt(text):
    """Ask for a line; stops the conversation where there are none."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise _EndOfInput
    if not sys.stdin.isatty():
        print_lines([line.strip()])  # a transcript shows what was answered
    return line.strip()


def _wording(one):
    """The question with its unit, its choices or its range."""
    wording = one.question or one.name
    if one.kind == "choice":
        shown = one.choices[:_MOST_CHOICES]
        if _are_numbered(one):
            shown = [f"{at} {choice}" for at, choice in enumerate(shown, 1)]
        more = len(one.choices) - len(shown)
        return f"{wording} [{', '.join(shown)}{f' and {more} more' if more else ''}]"
    limits = (
        [f"at least {one.show(one.least)}"]
        if one.least is not None and one.kind != "count"
        else []
    )
    limits += [f"at most {one.show(one.most)}"] if one.most is not None else []
    unit = "in %" if one.is_percent else one.unit
    parts = [unit, ", ".join(limits), f"{one.range} in training" if one.range else ""]
    about = "; ".join(part for part in parts if part)
    return f"{wording} ({about})" if about else wording


def _are_numbered(one):
    """Whether choices have numbers: not where they could be taken for a choice."""
    return not any(choice[:1].isdigit() for choice in one.choices)


def _choice(one, text):
    """A choice by its name, in any case, or by its number."""
    if text in one.choices:
        return text
    if (
        _are_numbered(one)
        and text.isdecimal()
        and len(text) < 9
        and 1 <= int(text) <= len(one.choices)
    ):
        return one.choices[int(text) - 1]
    alike = [choice for choice in one.choices if choice.lower() == text.lower()]
    return alike[0] if len(alike) == 1 else text


def _percent(share):
    return f"{100 * share:.1f} %"


def _serve(opened, settings, log):
    """Serve the page until Ctrl-C."""
    from tamis.report.questionnaire.form import make_form
    from tamis.report.questionnaire.page import make_page
    from tamis.report.questionnaire.server import AskServer

    form = make_form(
        Questionnaire(opened.model, **settings), digest=opened.digest, about=opened.about
    )

    def receive(identity, answers):
        talk = replay(Questionnaire(opened.model, **settings), answers)
        ended = "stopped" if talk.next_question() is not None else None
        record = describe(talk, opened.digest, ended=ended)
        append_line(Path(log), {"conversation": identity, **record})

    with AskServer(
        lambda path: make_page(form, log=path), None if log is None else receive
    ) as server:
        print_lines([server.url])
        say("open this address in a browser on this machine; Ctrl-C ends")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")
    return 0
