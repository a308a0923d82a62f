"""The views of schema `report`: what each says, column by column, and the sums behind them."""
