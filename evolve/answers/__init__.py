"""From the text of a reply to programs: formats, edits, recovery and EVOLVE-BLOCK regions."""
