"""Two tasks that are jobs; the second is a gang, and waits in the triggerer: `python on_volcano.py` tries it."""

from __future__ import annotations

from airflow.sdk import DAG

from volcano.integrations.airflow import VolcanoOperator

with DAG("on_volcano", schedule=None) as dag:
    first = VolcanoOperator(task_id="first", work=["echo", "{{ ds_nodash | length }}"])
    second = VolcanoOperator(task_id="second", work=pow, arguments=[2, 5], options={"nodes": 2}, deferrable=True)
    first >> second

if __name__ == "__main__":
    run = dag.test()
    for instance in run.get_task_instances():
        print("TASK", instance.task_id, instance.state, instance.xcom_pull(task_ids=instance.task_id))
