"""The job controller: `machine.step` decides, `controller.py` performs its plans."""
