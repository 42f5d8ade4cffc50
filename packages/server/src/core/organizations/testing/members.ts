/** Organizations with several members. */
import type { Role } from "@svc/contract"
import type { TestPlatform } from "../../../testing/platform.ts"
import { type Person, signUp } from "../../accounts/testing/people.ts"

/** A person who owns an organization on that plan. */
export const found = async (
  p: TestPlatform,
  plan: "free" | "starter" | "pro" | "enterprise" = "enterprise",
) => {
  const owner = await signUp(p)
  const organizations = p.database.db.updateTable("core.organizations")
  await organizations.set({ plan }).where("id", "=", owner.organizationId).execute()
  return { owner, org_id: owner.organizationId }
}

/** A person of that role in the organization, with a session that acts in it. */
export const join = async (p: TestPlatform, owner: Person, org_id: string, role: Role) => {
  const person = await signUp(p)
  const { token = "" } = await owner.svc.organizations.invite({ org_id, email: person.email, role })
  await person.svc.organizations.acceptInvitation({ token })
  return { ...person, svc: person.with({ "x-svc-organization": org_id }) }
}
