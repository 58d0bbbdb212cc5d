"""Speaking to addresses that others name: to which of them, and to no other in its place."""

from service.net.address import Resolve, check_address, check_entry, judge

__all__ = ["Resolve", "check_address", "check_entry", "judge"]
