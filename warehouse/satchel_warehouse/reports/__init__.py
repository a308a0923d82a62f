"""Reports on the warehouse: queries on the views of schema `report`, drawn, told and written out.

Start reading at `catalog/__init__.py` (what there is), then `reading.py`, `page.py`.
"""
