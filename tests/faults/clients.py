"""Clients of the API while faults go on: they submit, follow, steer and look, and note whatever must not be."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg

from service.db.compact_ids import decode_id
from service.ports import ENDED
from tests.fakes.openai_server import OpenAIServer, Reply
from tests.faults.problems import DETERMINISTIC, SHAPES, Shape

AT_ONCE = 6
PATIENCE_SECONDS = 180.0
RETRY_SECONDS = 0.2
LABEL = "attempt"
Event = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Told:
    """A run as its clients know it.

    Attributes:
        key: the idempotency key of its submission.
        seen: its events as they were streamed, in that order.
        end: the state that the stream's end told.
        cancelled, extended: whether the API has accepted that; the budget, and when by the clock of this machine.
        extending: whether a larger budget was asked for, with which it goes on even after its end.
        follower: reads its stream.
    """

    run_id: str
    shape: Shape
    key: str
    seen: list[Event] = field(default_factory=list)
    end: str = ""
    cancelled: bool = False
    extended: list[tuple[int, float]] = field(default_factory=list)
    paused: bool = False
    extending: bool = False
    follower: threading.Thread | None = None


class Crowd:
    """Everybody who uses the installation.

    Attributes:
        runs: every run that was submitted.
        failures: what must not have been, a line each.
        counts: of what was asked.
    """

    def __init__(self, url: str, key: str, database: str, model: OpenAIServer, seed: int) -> None:
        self.runs: dict[str, Told] = {}
        self.failures: list[str] = []
        self.counts: Counter[str] = Counter()
        self._url, self._database, self._model, self._seed = url, database, model, seed
        self._headers = {"Authorization": f"Bearer {key}"}
        self._submitted = 0
        self._lock = threading.Lock()
        self._closed, self._left = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._followers: list[threading.Thread] = []

    def start(self) -> None:
        """Submit the problems, and begin."""
        with self._client() as client:
            for shape in SHAPES:
                self._call(client, "POST", "/v1/problems", shape.problem(), f"problem {shape.name}")
        for work in (self._submit_on_and_on, self._steer, self._look):
            self._start(self._threads, work)
        self._start(self._followers, self._watch_database)

    def close(self) -> None:
        """Submit and steer no more, and let every run go on to its end."""
        self._closed.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        with self._client() as client:
            for told in list(self.runs.values()):
                if told.paused:
                    self._want(client, told, "resume")
        for told in list(self.runs.values()):
            if told.end and told.extending and told.follower is not None:
                told.follower.join(PATIENCE_SECONDS)
                told.end = ""  # it may have been continued behind the end that its stream told
                self._start_following(told, random.Random(told.run_id))

    def await_ends(self, seconds: float) -> list[str]:
        """Wait until every run's stream has told its end; the runs of which it has not."""
        deadline = time.monotonic() + seconds
        while (late := [run_id for run_id, told in self.runs.items() if not told.end]) and time.monotonic() < deadline:
            time.sleep(RETRY_SECONDS)
        return late

    def leave(self) -> None:
        """Hang up everywhere."""
        self._closed.set()
        self._left.set()
        for thread in (*self._threads, *self._followers):
            thread.join(PATIENCE_SECONDS)

    def submit_soon(self) -> None:
        """Have somebody submit a run just now, and not wait for it."""
        self._start(self._threads, self._submit)

    def _start_following(self, told: Told, draw: random.Random) -> None:
        told.follower = self._start(self._followers, lambda: self._follow(told, draw))

    def _start(self, threads: list[threading.Thread], work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - it would be lost in its thread
                self.failures.append(f"a client failed: {work!r}: {error!r}")

        thread = threading.Thread(target=guarded, daemon=True)
        threads.append(thread)
        thread.start()
        return thread

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self._url, headers=self._headers, timeout=20.0)

    def _call(
        self, client: httpx.Client, method: str, path: str, body: object = None, key: str = ""
    ) -> httpx.Response | None:
        """Ask until an answer comes; None: everybody leaves."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        headers = {"Idempotency-Key": key} if key else {}
        while not self._left.is_set():
            try:
                answer = client.request(method, path, json=body, headers=headers)
            except httpx.TransportError:
                self.counts["requests that broke off"] += 1
            else:
                self.counts["requests answered"] += 1
                busy = answer.status_code == 409 and answer.json()["type"].endswith("in_progress")
                if answer.status_code < 500 and not busy:
                    return answer
                self._note_away(method, path, answer)
            if time.monotonic() > deadline:
                self.failures.append(f"{method} {path} has no answer for {PATIENCE_SECONDS:g} s")
                return None
            self._left.wait(RETRY_SECONDS)
        return None

    def _note_away(self, method: str, path: str, answer: httpx.Response) -> None:
        self.counts[f"answers {answer.status_code}"] += 1
        problem = answer.headers.get("content-type", "").startswith("application/problem+json")
        waits = answer.status_code == 409 or (answer.status_code == 503 and "Retry-After" in answer.headers)
        if not waits or not problem:
            self.failures.append(f"{method} {path}: {answer.status_code} {answer.text[:300]}")

    def _submit_on_and_on(self) -> None:
        while not self._closed.wait(0.2):
            if sum(not told.end for told in list(self.runs.values())) < AT_ONCE:
                self._submit()

    def _submit(self) -> None:
        """Submit one run, twice: the second time changes nothing."""
        with self._lock:
            number, self._submitted = self._submitted, self._submitted + 1
        shape, key = SHAPES[number % len(SHAPES)], f"attempt-{number}"
        body = shape.run(number, self._model.url) | {"labels": {LABEL: key}}
        with self._client() as client:
            first = self._call(client, "POST", "/v1/runs", body, key)
            if first is None:
                return
            again = self._call(client, "POST", "/v1/runs", body, key)
        if first.status_code != 201 or again is None or again.status_code != 201:
            self.failures.append(f"submitting {shape.name}: {first.status_code} {first.text[:300]}")
            return
        run_id = first.json()["id"]
        if again.json()["id"] != run_id or again.headers.get("Idempotency-Replayed") != "true":
            self.failures.append(f"one key made two runs: {run_id} and {again.json()['id']}")
        told = self.runs[run_id] = Told(run_id=run_id, shape=shape, key=key)
        self._start_following(told, random.Random(f"{self._seed}/{number}"))

    def _follow(self, told: Told, draw: random.Random) -> None:
        """Read a run's stream to its end, hanging up now and then, and resume behind what was seen."""
        with self._client() as client:
            while not told.end and not self._left.is_set():
                maximum = draw.randrange(20, 400)
                try:
                    self._read(client, told, maximum)
                except httpx.TransportError:
                    self.counts["streams that broke off"] += 1
                self._left.wait(RETRY_SECONDS)

    def _read(self, client: httpx.Client, told: Told, maximum: int) -> None:
        last = told.seen[-1]["sequence"] if told.seen else 0
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
        path, fields = f"/v1/runs/{told.run_id}/events", dict[str, str]()
        with client.stream("GET", path, headers=headers) as answer:
            if answer.status_code != 200:
                answer.read()
                self._note_away("GET", path, answer)
                return
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif fields:
                    self._take(told, fields)
                    fields, maximum = {}, maximum - 1
                if told.end or maximum < 0 or self._left.is_set():
                    return

    def _take(self, told: Told, fields: dict[str, str]) -> None:
        kind = fields.get("event")
        if kind is None:
            return
        event = json.loads(fields["data"])
        if kind == "end":
            told.end = event["state"]
            return
        expected = told.seen[-1]["sequence"] + 1 if told.seen else 1
        if not event["sequence"] == int(fields["id"]) == expected:
            self.failures.append(f"the stream of {told.run_id} told {fields['id']} where {expected} follows")
        told.seen.append(event)

    def _steer(self) -> None:
        """Pause, resume, extend and cancel runs, and trouble the model; deterministic runs are left alone."""
        draw = random.Random(f"{self._seed}/steer")
        with self._client() as client:
            while not self._closed.wait(draw.uniform(0.3, 1.2)):
                if draw.random() < 0.3:
                    trouble = [Reply(status=503), Reply(cut_after=4), Reply(error_after=3)]
                    self._model.script(draw.choice([*trouble, Reply(status=429, headers={"retry-after": "1"})]))
                live = [told for told in list(self.runs.values()) if not told.end and told.shape.name != DETERMINISTIC]
                if live:
                    told = draw.choice(live)
                    verb = draw.choices(["pause", "extend", "cancel"], [5, 5, 1])[0]
                    self._want(client, told, "resume" if told.paused else verb)

    def _want(self, client: httpx.Client, told: Told, verb: str) -> None:
        budget = told.shape.evaluations + 20 * (len(told.extended) + 1)
        body = {"budget": {"evaluations": budget}} if verb == "extend" else None
        told.extending |= verb == "extend"
        number = sum(count for name, count in self.counts.items() if name.startswith("wanted "))
        answer = self._call(client, "POST", f"/v1/runs/{told.run_id}/{verb}", body, f"{verb}-{number}-{told.run_id}")
        if answer is None or answer.status_code == 409:  # it has ended, or is being cancelled
            return
        if answer.status_code != 202:
            self.failures.append(f"{verb} {told.run_id}: {answer.status_code} {answer.text[:300]}")
            return
        self.counts[f"wanted {verb}"] += 1
        told.paused = verb == "pause" or (told.paused and verb != "resume")
        told.cancelled |= verb == "cancel"
        if verb == "extend":
            told.extended.append((budget, time.time()))

    def _look(self) -> None:
        """Read what there is to read; what has ended stays as it is."""
        draw, ended = random.Random(f"{self._seed}/look"), dict[str, str]()
        with self._client() as client:
            while not self._closed.wait(0.1):
                paths = ["/v1/runs?limit=200", "/v1/workers", "/v1/problems", "/v1/events"]
                if self.runs:
                    run = f"/v1/runs/{draw.choice(list(self.runs))}"
                    paths += [run, f"{run}/candidates?limit=20", f"{run}/events?limit=50", f"{run}/proposals"]
                path = draw.choice(paths)
                answer = self._call(client, "GET", path)
                if answer is None:
                    continue
                if answer.status_code != 200:
                    self.failures.append(f"GET {path}: {answer.status_code} {answer.text[:300]}")
                elif path.startswith("/v1/runs?"):
                    self._compare(ended, {run["id"]: run["state"] for run in answer.json()["items"]})

    def _compare(self, ended: dict[str, str], states: dict[str, str]) -> None:
        for run_id, state in states.items():
            continued = run_id in self.runs and self.runs[run_id].extending
            if ended.get(run_id, state) != state and not continued:
                self.failures.append(f"run {run_id} was {ended[run_id]} and is {state}")
            if state in ENDED:
                ended[run_id] = state

    def _watch_database(self) -> None:
        """What was committed once, and who may write, never goes back."""
        known: dict[str, tuple[int, int]] = {}
        while not self._left.wait(0.3):
            try:
                with psycopg.connect(self._database, connect_timeout=5) as connection:
                    rows = connection.execute("select id, fence, sequence from runs").fetchall()
            except psycopg.OperationalError:
                continue
            for stored, fence, sequence in rows:
                run_id = decode_id(stored)
                before = known.get(run_id, (0, 0))
                if fence < before[0] or sequence < before[1]:
                    self.failures.append(f"run {run_id} went back from {before} to {(fence, sequence)}")
                known[run_id] = (fence, sequence)
