"""The jobflow controller: runs jobs made from templates in an order."""
