/** Two customers, and the agents of whoever runs the platform. */
import type { TestContext } from "node:test"
import { createSvc } from "@svc/sdk"
import { newId } from "../../../kernel/id.ts"
import { everyScope, PASSWORD, type PlatformOptions, platform } from "../../../testing/platform.ts"
import { watchedFetch } from "../../../testing/watch.ts"

export const supportWorld = async (t: TestContext, options: PlatformOptions = {}) => {
  const p = await platform(t, options)
  const operator = p.firstRun?.organization_id
  if (operator === undefined) throw new Error("this platform has been started before")
  const atOperator = { organization_id: operator, project_id: null }

  /** A person of the operator's organization, signed in there. */
  const agent = async (role: "owner" | "admin" | "member" = "admin") => {
    const headers = await p.session("staff")
    const person = createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers })
    const { id, email } = await person.account.get()
    await p.database.db.deleteFrom("core.members").where("user_id", "=", id).execute()
    await p.database.db
      .insertInto("core.members")
      .values({
        ...{ organization_id: operator, user_id: id, role, project_ids: null },
        joined_at: new Date(p.clock.now()),
      })
      .execute()
    const response = await p.request("/v1/account/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password: PASSWORD }),
    })
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? ""
    const svc = createSvc({
      ...{ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers: { cookie, origin: p.url } },
    })
    return { svc, id, email }
  }

  return {
    p,
    agent,
    customer: await p.client("acme"),
    stranger: await p.wide("globex", ...everyScope),
    /** A machine of the operator's. */
    desk: p.as((await p.key("acme", ["admin:full"], atOperator)).secret),
    NOBODY: newId(),
  }
}

export type SupportWorld = Awaited<ReturnType<typeof supportWorld>>
