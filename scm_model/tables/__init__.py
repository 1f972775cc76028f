"""Tables as they are: text of any dialect, Excel, Parquet and NumPy, for trainer and compiler.

Beside NumPy, reading needs Numba, and openpyxl or pyarrow for their kinds of file. All three are
imported when a table is read, and nothing else of ``scm_model`` imports this package.
"""
