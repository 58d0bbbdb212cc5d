"""What pages complain of while a test looks at them: errors of their scripts, of the network and of the service."""

import re

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

# What a page lets go of itself: a stream that it closes, an image that it no longer wants, a page that is left.
LEFT_OFF = "net::ERR_ABORTED"


class Complaints:
    """All that was heard from the contexts that are listened to, in that order."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def listen(self, context: BrowserContext) -> None:
        """Hear the pages of `context` from now on. What breaks the policy for content is told on the console."""
        context.on("console", self._hear_console)
        context.on("weberror", self._hear_error)
        context.on("requestfailed", self._hear_failure)
        context.on("response", self._hear_response)

    def expect(self, pattern: str) -> None:
        """Let pass what the regular expression finds, which has to come before the test ends."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        """What was heard and not expected, and what was expected and not heard."""
        wild = [line for line in self.heard if not any(known.search(line) for known in self._expected)]
        missing = [known.pattern for known in self._expected if not any(map(known.search, self.heard))]
        return wild + [f"expected, and not heard: {pattern}" for pattern in missing]

    def _hear_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "assert"}:
            self.heard.append(f"console: {message.text} ({message.location['url']})")

    def _hear_error(self, error: WebError) -> None:
        self.heard.append(f"script: {error.error}")

    def _hear_failure(self, request: Request) -> None:
        if request.failure != LEFT_OFF:
            self.heard.append(f"network: {request.method} {request.url} failed: {request.failure}")

    def _hear_response(self, response: Response) -> None:
        if response.status >= 500:
            self.heard.append(f"service: {response.request.method} {response.url} answered {response.status}")
