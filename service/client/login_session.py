"""A session that a one-time login opens, for requests of a client."""

from collections.abc import Generator

import httpx

LOGIN_SECONDS = 30.0


class LoginSession(httpx.Auth):
    """Shows the cookies of a session."""

    def __init__(self, cookies: str) -> None:
        self._cookies = cookies

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Dress one request."""
        request.headers["Cookie"] = self._cookies
        yield request

    def __repr__(self) -> str:
        return "LoginSession(...)"


async def log_in(transport: httpx.AsyncBaseTransport, url: str, token: str) -> LoginSession:
    """Log in with a one-time token.

    Args:
        transport: to the API.
        url: of the API.
        token: of the login.
    """
    async with httpx.AsyncClient(transport=transport, base_url=url, timeout=LOGIN_SECONDS) as browser:
        await browser.get("/login", params={"token": token})
        return LoginSession("; ".join(f"{name}={value}" for name, value in browser.cookies.items()))
