/** Where a show leads that is over: to its figures, and to a new event with the same elements. */

import { useState } from "preact/hooks";
import { textOf } from "../api.ts";
import { useCommands } from "../palette.tsx";
import { hrefOf } from "../places.ts";
import { Act, FormDialog } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import type { Desk } from "./desk.ts";

interface AfterProps {
  readonly context: ViewContext;
  readonly desk: Desk;
}

export function After({ context, desk }: AfterProps) {
  const [asks, setAsks] = useState(false);
  const { refusal } = desk;
  const event = desk.rundown.event.value;
  const again = (): void => setAsks(true);
  useCommands(() => [{ label: "Use this event again", refusal, run: again }]);
  return (
    <>
      {textOf(event, "state") === "past" && (
        <section class="note row" aria-label="After the show">
          <span class="grow">The show is over.</span>
          <a href={hrefOf(event, "analytics")}>Analytics</a>
          <Act refusal={refusal} onPress={again}>
            Use this event again…
          </Act>
        </section>
      )}
      {asks && <Again context={context} desk={desk} close={() => setAsks(false)} />}
    </>
  );
}

/** Makes a new event of the same elements, and opens its plan. */
function Again({ context, desk, close }: AfterProps & { readonly close: () => void }) {
  const event = desk.rundown.event.value;
  async function make(form: FormData): Promise<void> {
    const attributes = { name: String(form.get("name")).trim() };
    const body = { data: { type: "events" as const, attributes } };
    const { id } = await context.api.control.cloneEvent({ eventId: event.id, body });
    location.hash = hrefOf({ type: "events", id }, "plan");
  }
  return (
    <FormDialog title="Use this event again" confirm="Make the event" send={make} onClose={close}>
      <label>
        Name of the new event
        <input name="name" defaultValue={textOf(event, "name")} required maxLength={200} />
      </label>
      <p class="quiet">Its elements are drafts without votes, and it has no begin yet.</p>
    </FormDialog>
  );
}
