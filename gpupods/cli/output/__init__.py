"""How an answer looks: a table for people, a document for programs."""
