/** Where a show leads that is over: to its figures, and to a new event with the same elements. */

import { useState } from "preact/hooks";
import { textOf } from "../api.ts";
import { useCommands } from "../palette.tsx";
import { hrefOf } from "../places.ts";
import { messageOf } from "../problem.ts";
import { Act, Dialog, DialogButtons } from "../ui.tsx";
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
  const [name, setName] = useState(textOf(event, "name"));
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  async function make(): Promise<void> {
    setBusy(true);
    try {
      const data = { type: "events" as const, attributes: { name: name.trim() } };
      const { id } = await context.api.control.cloneEvent({ eventId: event.id, body: { data } });
      location.hash = hrefOf({ type: "events", id }, "plan");
    } catch (error) {
      setFault(messageOf(error));
      setBusy(false);
    }
  }
  return (
    <Dialog title="Use this event again" onClose={close}>
      <form
        class="stack labelled"
        onSubmit={submitted => {
          submitted.preventDefault();
          void make();
        }}
      >
        <label>
          Name of the new event
          <input
            value={name}
            required
            maxLength={200}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <p class="quiet">Its elements are drafts without votes, and it has no begin yet.</p>
        <p class="fault" role="alert">
          {fault}
        </p>
        <DialogButtons confirm="Make the event" isDisabled={isBusy} close={close} />
      </form>
    </Dialog>
  );
}
