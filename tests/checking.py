"""The checker of annotations under test: beartype, with an int good enough for a float."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
