/** What a fan earned and spent, with the reasons, newest first. */

import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../problem.ts";
import { Act, ask } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import type { Tenants } from "./tenants.ts";

const numbers = new Intl.NumberFormat(undefined, { signDisplay: "always" });
const plain = new Intl.NumberFormat();
const limit = 25;

interface Transaction {
  readonly transactionId: string;
  readonly type: "credit" | "debit";
  readonly currency: string;
  readonly amount: number;
  readonly balanceAfter: number;
  readonly status: string;
  readonly reason: string;
  readonly description: string | null;
  readonly source: { readonly type: string; readonly id: string | null };
  readonly createdAt: string;
}

interface LedgerProps {
  readonly context: ViewContext;
  readonly tenants: Tenants;
  readonly userId: string;
  readonly act: (work: () => Promise<unknown>, done: string) => Promise<void>;
}

export function Ledger({ context, tenants, userId, act }: LedgerProps) {
  const { api, signal } = context;
  const { organisationId, spaceId, zone } = tenants;
  const [entries, setEntries] = useState<readonly Transaction[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [fault, setFault] = useState("");
  async function read(): Promise<void> {
    const query = {
      space_id: spaceId,
      user_id: userId,
      limit,
      ...(next !== null && { lastEvaluatedKey: next }),
    };
    const options = { signal, headers: { "x-platform-org-id": organisationId } };
    setFault("");
    try {
      const { document } = await api.audience.listSpaceTransactions(query, options).whole();
      const page = document as unknown as {
        readonly data: readonly Transaction[];
        readonly lastEvaluatedKey: string | null;
      };
      setEntries([...(entries ?? []), ...page.data]);
      setNext(page.lastEvaluatedKey);
    } catch (error) {
      if (!signal.aborted) setFault(messageOf(error));
    }
  }
  useEffect(() => void read(), []);
  async function takeBack({ transactionId, ...entry }: Transaction): Promise<void> {
    const isSure = await ask({
      title: "Take this back?",
      text: `All that this transaction gave and took is undone (${amountOf(entry, tenants)}), also in boards and missions. It stays in the ledger with its reversal.`,
      confirm: "Take it back",
    });
    const call = () => api.loyalty.reverseTransaction({ space_id: spaceId, userId, body: { transactionId } });
    if (isSure) await act(call, "Taken back.");
  }
  return (
    <section>
      <h2>Ledger</h2>
      {entries?.length === 0 && next === null && <p class="empty">No points came or went yet.</p>}
      <ul class="list">
        {entries?.map(entry => (
          <Row
            key={`${entry.transactionId} ${entry.currency}`}
            entry={entry}
            tenants={tenants}
            onTakeBack={() => void takeBack(entry)}
          />
        ))}
      </ul>
      <p class="fault" role="alert">
        {fault}
      </p>
      {next !== null && (
        <button type="button" onClick={() => void read()}>
          Show older
        </button>
      )}
      <p class="quiet">Times in {zone.name}</p>
    </section>
  );
}

interface RowProps {
  readonly entry: Transaction;
  readonly tenants: Tenants;
  readonly onTakeBack: () => void;
}

function Row({ entry, tenants, onTakeBack }: RowProps) {
  return (
    <li class="row spread">
      <span class="grow">
        <strong class={entry.type === "credit" ? "gain" : "loss"}>{amountOf(entry, tenants)}</strong>{" "}
        <span dir="auto">{entry.description || wordsOf(entry.reason)}</span>
        <span class="quiet">
          {" "}
          {[
            ...(entry.description ? [wordsOf(entry.reason)] : []),
            ...(entry.source.id === null ? [] : [entry.source.id]),
            ...(entry.status === "completed" ? [] : [entry.status]),
          ].join(", ")}
        </span>
      </span>
      <span class="quiet">
        {tenants.zone.moment(Date.parse(entry.createdAt) / 1_000)} · {plain.format(entry.balanceAfter)} after
      </span>
      <Act class="plain" refusal={refusalOf(entry)} onPress={onTakeBack}>
        Take back…<span class="hidden"> {amountOf(entry, tenants)}</span>
      </Act>
    </li>
  );
}

function refusalOf({ status, reason }: Transaction): string | null {
  if (status === "reversed") return "It was taken back before.";
  if (reason === "reversed") return "It is a reversal itself.";
  if (status === "expired") return "The points have expired.";
  return null;
}

function amountOf(
  { type, amount, currency }: Omit<Transaction, "transactionId">,
  { metrics }: Tenants,
): string {
  return `${numbers.format(type === "credit" ? amount : -amount)} ${metrics.get(currency) ?? currency}`;
}

/** `rewardGranted` reads as "reward granted". */
function wordsOf(name: string): string {
  return name.replace(/([A-Z])/g, " $1").toLowerCase();
}
