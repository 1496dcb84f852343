/**
 * A ledger that keeps every point as a coin of its own and lives through every tick: slow, and made in another way than the
 * one that it judges.
 */

/** One point. */
export interface Coin {
  readonly lot: string;
  readonly creditedAt: number;
  readonly activatesAt: number;
  expiresAt: number | null;
  usable: boolean;
}

/** Points taken by a debit. */
export interface Taken {
  readonly coins: readonly Coin[];
  readonly amount: number;
}

export class CoinLedger {
  coins: Coin[] = [];
  /** Points of no lot; negative: a debt. */
  outside: number;
  now = 0;
  #graceMs: number;

  constructor(start: number, graceMs: number) {
    this.outside = start;
    this.#graceMs = graceMs;
  }

  get balance(): number {
    return this.outside + this.coins.filter(({ usable }) => usable).length;
  }

  get pending(): number {
    return this.coins.filter(({ usable }) => !usable).length;
  }

  liveUntil(at: number): void {
    for (; this.now < at; this.now++) {
      const tick = this.now + 1;
      const due = this.coins.filter(coin => !coin.usable && coin.activatesAt <= tick).sort(drawnEarlier);
      for (const coin of due) this.#put(coin);
      this.coins = this.coins.filter(({ expiresAt }) => expiresAt === null || expiresAt > tick);
    }
  }

  credit(
    wanted: number,
    dates: { readonly lot: string; readonly activatesAt: number; readonly expiresAt: number | null },
    ceiling: number,
  ): number {
    const amount = Math.max(0, Math.min(wanted, ceiling - this.balance - this.pending));
    for (let n = 0; n < amount; n++) {
      const coin = { ...dates, creditedAt: this.now, usable: false };
      if (dates.activatesAt > this.now) this.coins.push(coin);
      else this.#put(coin);
    }
    return amount;
  }

  debit(wanted: number, floor: number, first?: string): Taken {
    const amount = Math.max(0, Math.min(wanted, this.balance - floor));
    const coins: Coin[] = [];
    for (let n = 0; n < amount; n++) {
      const coin = this.#next(first);
      if (coin === undefined) this.outside -= 1;
      else {
        this.coins.splice(this.coins.indexOf(coin), 1);
        coins.push(coin);
      }
    }
    return { coins, amount };
  }

  /** Takes pending coins of a lot. */
  cancel(lot: string): number {
    const before = this.coins.length;
    this.coins = this.coins.filter(coin => coin.usable || coin.lot !== lot);
    return before - this.coins.length;
  }

  restore({ coins, amount }: Taken, ceiling: number): number {
    const back = Math.max(0, Math.min(amount, ceiling - this.balance - this.pending));
    const alive = new Map(this.coins.map(coin => [coin.lot, coin.expiresAt]));
    const debt = Math.min(Math.max(0, -this.outside), back);
    this.outside += debt;
    const returning = coins.toReversed().slice(0, back - debt);
    for (const coin of returning) {
      const isOver = coin.expiresAt !== null && coin.expiresAt <= this.now;
      const anew = isOver ? this.now + this.#graceMs : coin.expiresAt;
      const expiresAt = alive.has(coin.lot) ? (alive.get(coin.lot) ?? null) : anew;
      this.coins.push({ ...coin, expiresAt, usable: true });
    }
    this.outside += back - debt - returning.length;
    return back;
  }

  /** Returns the coins of each lot by its id, with the time of their expiry. */
  lots(): Record<string, { remaining: number; expiresAt: number | null }> {
    const lots: Record<string, { remaining: number; expiresAt: number | null }> = {};
    for (const { lot, expiresAt } of this.coins) {
      const remaining = (lots[lot]?.remaining ?? 0) + 1;
      lots[lot] = { remaining, expiresAt };
    }
    return lots;
  }

  #put(coin: Coin): void {
    if (this.outside < 0) {
      this.outside += 1;
      this.coins = this.coins.filter(other => other !== coin);
      return;
    }
    coin.usable = true;
    if (!this.coins.includes(coin)) this.coins.push(coin);
  }

  #next(first: string | undefined): Coin | undefined {
    const usable = this.coins.filter(coin => coin.usable);
    const preferred = usable.find(({ lot }) => lot === first);
    if (preferred !== undefined) return preferred;
    const [best] = usable.sort(drawnEarlier);
    return best;
  }
}

/** The coin that goes first, then the older one. */
function drawnEarlier(a: Coin, b: Coin): number {
  const end = (coin: Coin): number => coin.expiresAt ?? Number.MAX_SAFE_INTEGER;
  return end(a) - end(b) || a.creditedAt - b.creditedAt || (a.lot < b.lot ? -1 : a.lot > b.lot ? 1 : 0);
}
