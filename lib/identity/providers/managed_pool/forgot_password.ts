/**
 * Asking for a code with which to set a new password.
 *
 * @module
 */

import * as v from "valibot";
import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import { codeAgeMsMax } from "../../codes/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, operation } from "../../operations.ts";
import { emailWay, isSameEmail } from "./email_way.ts";
import { EmailSchema } from "./fields.ts";
import { passwordCodeMail } from "./mails.ts";
import { checkRecovery } from "./recovery.ts";

const ForgotSchema = v.object({ data: v.object({ email: EmailSchema }) });

const codeMinutes = codeAgeMsMax / 60_000;

/**
 * Mails a code to the user who has the address. An address that nobody has gets a code too, which nobody ever sees, so
 * that the answer, and what it costs, is the same.
 */
export function forgotPoolPassword(context: IdentityContext): Operation {
  const { abuse, codes, users, background, mailer } = context;
  return operation({
    schema: ForgotSchema,
    async run({ data: { email } }, call): Promise<Reply> {
      const { project, info } = call;
      await checkRecovery(context, call);
      const facts = { projectId: project.id, address: info.address, email };
      if ((await abuse.attempt("forgot", facts)) === "silent") return identityEnvelope({});
      const code = await codes.issue(project.id, "password", email);
      const user = await users.byWay(project.id, emailWay(email));
      if (user !== null) call.note({ userId: user.userId });
      const { account } = user ?? {};
      if (account !== undefined) {
        // As its owner wrote it, not as the request did: nobody else's spelling decides where a code goes.
        const to = isSameEmail(account.email, email) ? account.email : email;
        background.run("mail_password_code", info, () =>
          mailer.send(passwordCodeMail({ to, from: project.name }, code, codeMinutes)),
        );
      }
      return identityEnvelope({});
    },
  });
}
