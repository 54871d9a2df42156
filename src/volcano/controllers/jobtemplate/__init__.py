"""The jobtemplate controller: lists on every template the jobs made from it."""
