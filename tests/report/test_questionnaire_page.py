"""The page of the questionnaire: one file, safe for any name, usable with the keyboard alone."""

import json
import re
import threading
import urllib.error
import urllib.request
from dataclasses import replace

import numpy as np
import pytest

from tamis import SparseCenterClassifier, TableClassifier
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.form import make_form
from tamis.report.questionnaire.page import make_page
from tamis.report.questionnaire.record import append_line, describe, replay
from tamis.report.questionnaire.server import AskServer
from tests.report.browser import Browser, needs_browser
from tests.report.forms import converse, model, random_answer

EVIL = "</script><script>alert(1)</script>"


def page_of(name="centers", target="diagnosis", log=None, about=None, **settings):
    found = replace(model(name), target=target)
    form = make_form(Questionnaire(found, **settings), digest="sha256:" + "ab" * 32, about=about)
    return make_page(form, log=log)


def test_names_cannot_leave_their_place():
    page = page_of(target=EVIL, about=f"For adults. {EVIL}")
    assert page.count("<script") == 2 and page.count("</script>") == 2
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)
    form = json.loads(data)
    assert form["target"] == EVIL
    assert "</script><b>odd" in [question["name"] for question in form["questions"]]
    assert "sha256:" + "ab" * 32 in page and "For adults." in page


def test_the_page_may_load_nothing():
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page_of()).group(1)
    assert "default-src 'none'" in policy and "connect-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?://", page_of())
    assert "connect-src 'self'" in page_of(log="/log")


@pytest.fixture
def server():
    """A server that remembers what it received."""
    received = []

    def receive(identity, answers):
        talk = replay(Questionnaire(model("centers")), answers)
        received.append((identity, talk))

    found = AskServer(lambda path: page_of(log=path), receive)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found, received
    found.shutdown()
    thread.join()
    found.server_close()


def ask(url, data=None, **headers):
    request = urllib.request.Request(url, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except urllib.error.HTTPError as error:
        return error.code, "", error.headers


def conversation():
    talk = Questionnaire(model("centers"))
    converse(talk, np.random.default_rng(0))
    sent = [
        {"name": step.name, "answers": [None if step.value is None else step.value]}
        for step in talk.history
    ]
    return talk, sent


def test_the_server_answers_only_those_who_know_its_path(server):
    found, _ = server
    status, page, headers = ask(found.url)
    assert status == 200 and "Questions about diagnosis" in page
    assert headers["X-Frame-Options"] == "DENY" and headers["Cache-Control"] == "no-store"
    root = found.url.removesuffix(found.path)
    assert len(found.path) > 30 and "127.0.0.1" in root
    for path in ("/", "/log", found.path[:-2], f"{found.path}other", f"{found.path}../"):
        assert ask(root + path)[0] == 404
    assert ask(found.url, Host="evil.example")[0] == 403
    assert found.path != AskServer(lambda path: "", None).path


def test_the_server_checks_what_it_receives(server):
    found, received = server
    talk, sent = conversation()
    identity = "0" * 8 + "-0000-0000-0000-" + "0" * 12
    good = json.dumps({"id": identity, "answers": sent}).encode()
    log = f"{found.url}log"
    assert ask(log, good)[0] == 204
    ((known, heard),) = received
    assert known == identity and heard.outcome().label == talk.outcome().label
    wrong = [
        b"",
        b"{",
        b"[]",
        json.dumps({"id": "x", "answers": sent}).encode(),
        json.dumps({"id": identity, "answers": sent, "more": 1}).encode(),
        json.dumps({"id": identity, "answers": {"a": 1}}).encode(),
        json.dumps({"id": identity, "answers": [{"name": "other", "answers": [1]}]}).encode(),
        json.dumps({"id": identity, "answers": [sent[0] | {"answers": ["words"]}]}).encode(),
        json.dumps({"id": identity, "answers": [sent[0] | {"answers": [1, 2]}]}).encode(),
    ]
    assert [ask(log, data)[0] for data in wrong] == [400] * len(wrong)
    # Announced, not sent: the server answers before it reads, and closes the connection.
    assert ask(log, b" ", **{"Content-Length": str(2 << 20)})[0] == 413
    assert ask(log, good, Origin="http://evil.example")[0] == 403
    assert ask(found.url, good)[0] == 404
    assert len(received) == 1


def test_without_a_log_nothing_is_received():
    found = AskServer(lambda path: page_of(log=path), None)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    try:
        assert ask(f"{found.url}log", b"{}")[0] == 404
        assert "connect-src 'none'" in ask(found.url)[1]
    finally:
        found.shutdown()
        thread.join()
        found.server_close()


def test_a_record_has_the_digest_and_is_one_line(tmp_path):
    talk, sent = conversation()
    for _ in range(2):
        append_line(tmp_path / "log", describe(talk, "sha256:00"))
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    record = json.loads(lines[0])
    assert record["digest"] == "sha256:00" and record["label"] == talk.outcome().label
    assert [step["name"] for step in record["answers"]] == [step["name"] for step in sent]


# In the browser.


def answer_all(browser, rng, keyboard=True):
    """Answer the questions of the page with the keyboard."""
    while (question := browser.evaluate("currentTalk().question")) is not None:
        before = browser.evaluate("currentTalk().history.length")
        (one,) = question["fields"]
        if one["kind"] == "choice":
            for _ in range(int(rng.integers(len(one["choices"])))):
                browser.press("ArrowDown")
            browser.press(" ")
        else:
            browser.write(f"{rng.uniform(one['low'], one['high']):.3f}")
        browser.press("Enter")
        assert browser.evaluate("currentTalk().history.length") == before + 1


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("name", ["centers", "forest", "linear", "projection"])
def test_a_conversation_needs_only_the_keyboard_and_no_network(name, tmp_path):
    path, rng = tmp_path / "page.html", np.random.default_rng(0)
    path.write_text(page_of(name, target=EVIL), encoding="utf-8")
    with Browser() as browser:
        for width in (360, 1440):
            for scheme in ("light", "dark"):
                browser.set_size(width)
                browser.set_media(scheme)
                browser.open(path)
                assert browser.overflow() == []
                answer_all(browser, rng)
                assert browser.overflow() == []
                given = browser.evaluate("currentTalk().history")
                talk = Questionnaire(model(name))
                replay(talk, given)
                assert talk.next_question() is None
                shown = browser.evaluate("document.querySelector('#result h2').textContent")
                assert shown == f"{EVIL}: {talk.outcome().label}"
                assert browser.evaluate("document.activeElement.id") == "result"
        assert browser.errors == [] and browser.requests == []


@pytest.mark.slow
@needs_browser
def test_wrong_and_unusual_answers_undo_and_skip_in_the_page(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page_of(max_questions=3, reject=0.999), encoding="utf-8")
    with Browser(360) as browser:
        browser.open(path)
        assert (
            browser.evaluate("document.querySelector('label.wording').textContent") == "How old?"
        )
        text = "document.querySelector('#{}').textContent"
        browser.press("Enter")
        assert "Not available" in browser.evaluate(text.format("wrong"))
        browser.write("old")
        browser.press("Enter")
        assert "number" in browser.evaluate(text.format("wrong"))
        browser.evaluate("document.querySelector('#f0').value = ''")
        browser.write("119")
        browser.press("Enter")
        assert "above all values" in browser.evaluate(text.format("unusual"))
        assert browser.evaluate("currentTalk().history.length") == 0
        browser.press("Enter")
        assert browser.evaluate("currentTalk().history.length") == 1
        browser.click("#undo")
        assert browser.evaluate("currentTalk().history.length") == 0
        browser.click("#skip")
        assert browser.evaluate("document.querySelector('#history td').textContent") == (
            "not available"
        )
        answer_all(browser, np.random.default_rng(1))
        assert "A person should decide" in browser.evaluate(text.format("result"))
        browser.click("#again")
        assert browser.evaluate("currentTalk().history.length") == 0
        assert browser.errors == []


@pytest.mark.slow
@needs_browser
def test_an_answer_in_percent_is_shown_in_percent(tmp_path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"filled": [f"{p}%" for p in range(20, 80)]})
    fitted = TableClassifier(SparseCenterClassifier()).fit(X, np.arange(60) // 30)
    path = tmp_path / "page.html"
    path.write_text(make_page(make_form(Questionnaire(fitted))), encoding="utf-8")
    with Browser(360) as browser:
        browser.open(path)
        browser.write("40")
        browser.press("Enter")
        assert browser.evaluate("document.querySelector('#history td').textContent") == "40 %"


@pytest.mark.slow
@needs_browser
def test_the_page_of_the_server_sends_the_answers_and_nothing_else(server):
    found, received = server
    with Browser() as browser:
        browser.open(found.url)
        answer_all(browser, np.random.default_rng(0))
        label = browser.evaluate("currentTalk().form.classes[currentTalk().outcome().label]")
        for _ in range(50):
            if received:
                break
            browser.evaluate("new Promise(done => setTimeout(done, 100))")
        assert set(browser.requests) == {f"{found.url}log"}
        assert browser.errors == []
    assert received[0][1].outcome().label == label


def test_random_answers_are_valid():
    rng = np.random.default_rng(0)
    for question in Questionnaire(model("centers")).questions:
        for _ in range(20):
            question.fields[0].read(random_answer(question.fields[0], rng))
