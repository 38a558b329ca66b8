"""One module per library, with a table CASES: name -> function that gives what is compared."""
