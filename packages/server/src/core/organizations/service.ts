import { randomInt } from "node:crypto"
import type { PlanName } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import { mintKey, unrestricted } from "../keys/mint.ts"
import { noKeyPolicy } from "../keys/policy.ts"
import { type ProjectRecord, type ProjectRow, projectStore } from "./project-store.ts"
import { slugOf } from "./rules.ts"
import { type OrganizationRow, organizationStore } from "./store.ts"

const FIRST_PROJECT = "default"
/** This installation is one region, until areas can place what they make. */
const REGION = "local"
const SUFFIX_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
const SUFFIX_LENGTH = 6
const SUFFIXES_TRIED = 5

const newSuffix = (): string =>
  Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join("")

/** Inserts under the slug of the name, or, where that is taken, under the slug with a random suffix. */
const insertUnderSlug = async <Row extends { name: string }>(
  row: Row,
  insert: (row: Row & { slug: string }) => Promise<boolean>,
): Promise<Row & { slug: string }> => {
  const base = slugOf(row.name)
  for (const suffix of ["", ...Array.from({ length: SUFFIXES_TRIED }, () => `-${newSuffix()}`)]) {
    const slugged = { ...row, slug: base + suffix }
    if (await insert(slugged)) return slugged
  }
  throw new Error(`no slug for ${base} is free`)
}

interface NewProject {
  readonly organizationId: string
  readonly name: string
  /** User who creates it. */
  readonly userId: string
  readonly now: Date
}

/**
 * Makes a project with its publishable key, which is no secret. The caller has checked the plan. Throws the unique
 * violation of `projects_name` when the name is taken.
 */
export const createProject = async (
  db: Db,
  { organizationId, name, userId, now }: NewProject,
): Promise<{ project: ProjectRecord; publishableKey: string }> => {
  const fresh: Omit<ProjectRow, "slug"> = {
    id: newId(now.getTime()),
    organization_id: organizationId,
    name,
    region: REGION,
    created_at: now,
    deleted_at: null,
  }
  const project = await insertUnderSlug(fresh, projectStore(db).insert)
  const { row, secret } = await mintKey(db, now, {
    organization_id: organizationId,
    project_id: project.id,
    type: "publishable",
    name: "publishable key",
    scopes: [],
    ...unrestricted,
    created_by: userId,
  })
  return { project: { ...project, publishable_key_id: row.id }, publishableKey: secret }
}

interface NewOrganization {
  readonly name: string
  /** Its first owner. */
  readonly userId: string
  readonly plan: PlanName
  readonly now: Date
}

export interface FoundedOrganization {
  readonly organization: OrganizationRow
  readonly organizationId: string
  readonly projectId: string
  readonly publishableKey: string
}

/** Makes an organization with its owner and a first project. Run it in a transaction. */
export const foundOrganization = async (
  db: Db,
  { name, userId, plan, now }: NewOrganization,
): Promise<FoundedOrganization> => {
  const fresh: Omit<OrganizationRow, "slug"> = {
    id: newId(now.getTime()),
    name,
    plan,
    requests_per_second: null,
    ...noKeyPolicy,
    created_at: now,
    deleted_at: null,
  }
  const organization = await insertUnderSlug(fresh, organizationStore(db).insert)
  await organizationStore(db).insertMember({
    organization_id: organization.id,
    user_id: userId,
    role: "owner",
    project_ids: null,
    joined_at: now,
  })
  const { project, publishableKey } = await createProject(db, {
    organizationId: organization.id,
    name: FIRST_PROJECT,
    userId,
    now,
  })
  return { organization, organizationId: organization.id, projectId: project.id, publishableKey }
}
