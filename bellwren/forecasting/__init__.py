"""What serving a forecast needs: features, the model loader, the few-shot update, the choice. No training here."""
