"""vsub, vjobs, vqueues, vcancel, vsuspend, vresume: jobs for people who come from Slurm. One file per program."""
