if {[file exists {{ activity }}]} { read_saif -strip_path {{ scope }} {{ activity }} }
