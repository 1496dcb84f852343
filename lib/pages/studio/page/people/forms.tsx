/** Forms about one fan: points to give, and a ban. */

import { useState } from "preact/hooks";
import { systemRandom, uuid } from "../../../../auth/crypto/mod.ts";
import { FormDialog } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import type { Tenants } from "./tenants.ts";

interface FormProps {
  readonly context: ViewContext;
  readonly tenants: Tenants;
  readonly userId: string;
  /** Called with what was done; null: nothing. */
  readonly onClose: (done: string | null) => void;
}

/** The reward's id is the form's, so that however often it arrives it is given once. */
export function GrantForm({ context: { api }, tenants, userId, onClose }: FormProps) {
  const [rewardId] = useState(() => uuid(systemRandom));
  const { organisationId, spaceId, projectId, metrics } = tenants;
  async function send(form: FormData): Promise<void> {
    const metricId = String(form.get("metric"));
    const amount = Number(form.get("amount"));
    const reason = String(form.get("reason")).trim();
    const reward = { userId, rewardId, projectId, type: "metric", metricId, amount, reason } as const;
    const options = { headers: { "x-platform-org-id": organisationId } };
    const { results } = await api.audience.giveRewards(
      { space_id: spaceId, body: { rewards: [reward] } },
      options,
    );
    const [result] = results;
    if (result?.status === "duplicate") return onClose("It was given before.");
    if (result?.status !== "succeeded") throw new Error("The reward was refused.");
    onClose(`${amount} ${metrics.get(metricId) ?? metricId} given.`);
  }
  return (
    <FormDialog title="Give points" confirm="Give" send={send} onClose={() => onClose(null)}>
      <label class="grow">
        What
        <select name="metric">
          {[...metrics].map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label class="grow">
        How many
        <input name="amount" type="number" min={1} max={1_000_000_000} step={1} required />
      </label>
      <label class="grow">
        Reason, which the ledger and the fan's history show
        <input name="reason" required maxLength={256} pattern=".*\S.*" autoComplete="off" />
      </label>
    </FormDialog>
  );
}

export function BanForm({ context: { api }, tenants: { projectId, zone }, userId, onClose }: FormProps) {
  async function send(form: FormData): Promise<void> {
    const hours = Number(form.get("hours"));
    const until = hours === 0 ? {} : { until: Math.floor(Date.now() / 1_000) + hours * 3_600 };
    const body = { reason: String(form.get("reason")).trim(), ...until };
    await api.identity.banUser({ projectId, userId, body });
    onClose("The person is banned.");
  }
  return (
    <FormDialog title="Ban this person?" confirm="Ban" isDangerous send={send} onClose={() => onClose(null)}>
      <p>
        All sessions end at once, and the person cannot sign in. Points and history stay. Times are in{" "}
        {zone.name}.
      </p>
      <label class="grow">
        For how long
        <select name="hours">
          <option value="0">Until it is lifted</option>
          <option value="24">A day</option>
          <option value="168">A week</option>
          <option value="720">30 days</option>
        </select>
      </label>
      <label class="grow">
        Reason
        <input name="reason" required maxLength={500} pattern=".*\S.*" autoComplete="off" />
      </label>
    </FormDialog>
  );
}
