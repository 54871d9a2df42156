"""Snakemake on Volcano: `snakemake --executor volcano`. Snakemake finds it as `snakemake_executor_plugin_volcano`."""
