/** Who has which role here, and where it comes from. */

import { useRef, useState } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { Shown, useAnswer } from "./answers.tsx";
import { type Resource, type Role, textOf } from "./api.ts";
import { hrefOf } from "./places.ts";
import { messageOf } from "./problem.ts";
import { ask } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

const does: Readonly<Record<Role, string>> = {
  viewer: "reads",
  creator: "edits events and elements",
  admin: "edits spaces, projects and roles",
};
const rolesInOrder = Object.keys(does) as Role[];

interface Granted {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly from: Resource;
}

export function Roles({ context }: { readonly context: ViewContext }) {
  const { chain } = context;
  const scope = chain.at(-1);
  const answer = useAnswer(() => readRoles(context), context);
  const [fault, setFault] = useState("");
  if (scope === undefined) return null;
  async function change(work: () => Promise<unknown>, done: string): Promise<boolean> {
    setFault("");
    try {
      await work();
      context.announce(done);
      return true;
    } catch (error) {
      setFault(messageOf(error));
      return false;
    } finally {
      answer.again();
    }
  }
  return (
    <div class="view">
      <Invite context={context} scope={scope} change={change} />
      <p class="fault" role="alert">
        {fault}
      </p>
      <Shown answer={answer}>
        {({ granted, hidden }) => (
          <section>
            <h2>People with a role</h2>
            <ul class="list">
              {granted.map(each => (
                <Person key={each.id} context={context} scope={scope} granted={each} change={change} />
              ))}
            </ul>
            {granted.length === 0 && <p class="empty">Nobody has a role here alone.</p>}
            {hidden.length > 0 && (
              <p class="quiet">
                Roles of {hidden.map(each => textOf(each, "name")).join(" and ")} count here too. Only their
                admins see them.
              </p>
            )}
          </section>
        )}
      </Shown>
    </div>
  );
}

type Change = (work: () => Promise<unknown>, done: string) => Promise<boolean>;

/** Reads the roles of a place and of what is above it, the nearest first. */
async function readRoles(context: ViewContext) {
  const places = context.chain.filter(({ type }) => type !== "events").reverse();
  const lists = await Promise.all(
    places.map(place =>
      rolesOf(context, place).catch((error: unknown) => {
        // Who is an admin below sees nothing above.
        if (error instanceof GrandstandError && [403, 404].includes(error.status)) return null;
        throw error;
      }),
    ),
  );
  const hidden = places.filter((_, index) => lists[index] === null);
  return { granted: lists.flatMap(list => list ?? []), hidden };
}

async function rolesOf({ api, signal }: ViewContext, from: Resource): Promise<readonly Granted[]> {
  const { control } = api;
  const query = { sort: "created_at", "page[count]": 100 } as const;
  const list =
    from.type === "organisations"
      ? control.listOrganisationRoles({ organisationId: from.id, ...query }, { signal })
      : from.type === "spaces"
        ? control.listSpaceRoles({ spaceId: from.id, ...query }, { signal })
        : control.listProjectRoles({ projectId: from.id, ...query }, { signal });
  const granted: Granted[] = [];
  for await (const { id, attributes } of list) {
    granted.push({ id, email: String(attributes.email), role: attributes.role as Role, from });
  }
  return granted;
}

interface InviteProps {
  readonly context: ViewContext;
  readonly scope: Resource;
  readonly change: Change;
}

function Invite({ context: { api }, scope, change }: InviteProps) {
  const email = useRef<HTMLInputElement>(null);
  const [role, setRole] = useState<Role>("creator");
  const [invited, setInvited] = useState("");
  async function grant(): Promise<void> {
    const address = email.current?.value.trim() ?? "";
    const body = { data: { type: "scope_roles", attributes: { email: address, role } } } as const;
    const { control } = api;
    const create = () =>
      scope.type === "organisations"
        ? control.createOrganisationScopeRole({ organisationId: scope.id, body })
        : scope.type === "spaces"
          ? control.createSpaceScopeRole({ spaceId: scope.id, body })
          : control.createProjectScopeRole({ projectId: scope.id, body });
    if (!(await change(create, `${address} is ${role} now.`))) return;
    if (email.current !== null) email.current.value = "";
    setInvited(address);
  }
  const address = `${location.origin}${location.pathname}${hrefOf(scope)}`;
  const letter = new URLSearchParams({
    subject: textOf(scope, "name"),
    body: `You can work on ${textOf(scope, "name")} now. Open ${address} and sign in with this address: a code comes by mail.`,
  });
  return (
    <section class="card">
      <h2>Invite somebody</h2>
      <form
        class="row fields"
        onSubmit={event => {
          event.preventDefault();
          void grant();
        }}
      >
        <label class="grow">
          E-mail address
          <input ref={email} type="email" required maxLength={254} autoComplete="off" />
        </label>
        <label>
          Role
          <select value={role} onChange={event => setRole(event.currentTarget.value as Role)}>
            {rolesInOrder.map(each => (
              <option key={each} value={each}>
                {each}: {does[each]}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="main">
          Give the role
        </button>
      </form>
      {invited !== "" && (
        <p>
          {invited} can sign in here with a mailed code.{" "}
          <a href={`mailto:${encodeURIComponent(invited)}?${letter.toString().replaceAll("+", "%20")}`}>
            Write the invitation
          </a>
        </p>
      )}
    </section>
  );
}

interface PersonProps extends InviteProps {
  readonly granted: Granted;
}

function Person({ context: { api }, scope, granted: { id, email, role, from }, change }: PersonProps) {
  const isHere = from.id === scope.id;
  async function remove(): Promise<void> {
    const isSure = await ask({
      title: "Take the role away?",
      text: `${email} has no role in ${textOf(from, "name")} any more, and loses what it opened within a second.`,
      confirm: "Take it away",
    });
    if (isSure)
      await change(
        () => api.control.removeScopeRole({ scopeRoleId: id }),
        `${email} has no role here any more.`,
      );
  }
  const give = (next: Role) =>
    change(
      () =>
        api.control.changeScopeRole({
          scopeRoleId: id,
          body: { data: { type: "scope_roles", id, attributes: { role: next } } },
        }),
      `${email} is ${next} now.`,
    );
  return (
    <li class="row spread">
      <span class="grow">
        <strong>{email}</strong>
        {!isHere && (
          <span class="quiet">
            {" "}
            from <a href={hrefOf(from, "roles")}>{textOf(from, "name")}</a>
          </span>
        )}
      </span>
      {isHere ? (
        <span class="row">
          <select
            aria-label={`Role of ${email}`}
            value={role}
            onChange={event => {
              const { currentTarget } = event;
              void give(currentTarget.value as Role).then(isDone => {
                if (!isDone) currentTarget.value = role;
              });
            }}
          >
            {rolesInOrder.map(each => (
              <option key={each}>{each}</option>
            ))}
          </select>
          <button type="button" class="plain" onClick={() => void remove()}>
            Remove…<span class="hidden"> the role of {email}</span>
          </button>
        </span>
      ) : (
        <span class="state">{role}</span>
      )}
    </li>
  );
}
