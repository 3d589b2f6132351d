"""psoup: windowed SQL over live streams, invoked whenever you come back.

Everything is imported from here (`psoup.engine...`). The rooms lie beside this folder and are linked into it, so that
no package of psoup's takes a name as common as `app` from whoever installs it.
"""
