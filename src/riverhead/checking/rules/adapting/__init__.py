"""How somebody's function is called: its parameters by their names, its arrays, its layout."""
