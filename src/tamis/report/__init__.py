"""What people see of a model: pages, questionnaires and cards."""

__all__: list[str] = []
