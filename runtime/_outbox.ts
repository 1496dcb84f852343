import { array, type InferOutput, number, object, picklist, string } from "valibot";
import type { Outbox } from "../adapters/mail/mod.ts";
import { type Area, json, open, route } from "../lib/http/mod.ts";

/** Where a demo shows the mails that it would have sent. */
export const outboxPath = "/_outbox";

const KeptMailsSchema = object({
  mails: array(
    object({
      at: number(),
      to: string(),
      kind: picklist([
        "passwordCode",
        "alreadyRegistered",
        "passwordChanged",
        "emailChanged",
        "exportCompleted",
        "exportPassword",
        "exportFailed",
      ]),
      subject: string(),
      text: string(),
    }),
  ),
});

/** Shows the kept mails, newest first, to everybody who asks: mails hold codes, so it is for demos only. */
export function outboxArea(outbox: Outbox): Area {
  const list = route({
    method: "GET",
    path: outboxPath,
    operation: "listOutbox",
    summary: "List the mails that the demo kept, newest first",
    auth: open,
    responses: { 200: { description: "The mails", schema: KeptMailsSchema } },
    handle: () => json(200, { mails: [...outbox.list()] } satisfies InferOutput<typeof KeptMailsSchema>),
  });
  return { name: "outbox", family: "problem", routes: [list] };
}
