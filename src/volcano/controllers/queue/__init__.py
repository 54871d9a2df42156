"""The queue controller: opens and closes queues, down their tree, and counts the podgroups in them."""
