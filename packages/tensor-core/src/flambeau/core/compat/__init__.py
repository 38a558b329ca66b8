"""Names that older programs use, and settings that have little or no effect here."""
