-- Markets are compared by one spelling of their names: `btc/usd` is `BTC-USD`. What a card says stays as it is.
update runs set symbol = upper(translate(symbol, '/_', '--'))
where symbol is not null and symbol <> upper(translate(symbol, '/_', '--'));
