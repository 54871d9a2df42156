"""The cronjob controller: starts vcjobs on schedules."""
