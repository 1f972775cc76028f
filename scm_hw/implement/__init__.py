"""Place, route and pack a board top with open tools."""

from scm_hw.implement.flow import Implementation, implement, require_tools

__all__ = ["Implementation", "implement", "require_tools"]
