"""Public helpers for tests of schedulers, controllers and plugins: builders of objects and small worlds."""
