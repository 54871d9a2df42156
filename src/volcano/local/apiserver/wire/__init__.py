"""Foreign bytes into documents and documents into the forms that clients ask for."""
