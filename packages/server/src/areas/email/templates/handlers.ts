import { type areas, type Input, page, pageOf } from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import { isUniqueViolation } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import { readAddress, shown } from "../sending/addresses.ts"
import type { Renderer } from "./renderer.ts"
import { missingVariables, mistypedVariables, withDefaults } from "./rules.ts"
import { type TemplateRow, templateStore } from "./store.ts"

type Specs = typeof areas.email.specs
type Operations = Pick<
  Specs,
  "listTemplates" | "createTemplate" | "getTemplate" | "updateTemplate" | "deleteTemplate" | "previewTemplate"
>
type Body = Input<Specs["createTemplate"]>

const toTemplate = (row: TemplateRow) => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  version: row.version,
  subject: row.subject,
  html: row.html,
  text: row.text,
  mjml: row.mjml,
  from: row.from_address,
  reply_to: row.reply_to,
  bulk: row.bulk,
  variables: [...row.variables],
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const notFound = (id: string) => fault("template_not_found", { id })

export const templateHandlers = ({ renderer }: { readonly renderer: Renderer }): Handlers<Operations> => {
  /** What a body says, compiled and checked. */
  const read = async (body: Body, { organization, now }: Call) => {
    const { mjml = null, text = null, from, reply_to, bulk = false, variables = [] } = body
    const html = mjml === null ? body.html : await renderer.run(organization.id, { kind: "mjml", mjml })
    if (html === undefined || html === null) throw fault("missing_parameter", { field: "html" })
    const sources = { subject: body.subject, html, text }
    await renderer.run(organization.id, { kind: "check", sources })
    return {
      ...{ name: body.name, ...sources, mjml, bulk, updated_at: now },
      from_address: from ? shown(readAddress("from", from)) : null,
      reply_to: reply_to ? shown(readAddress("reply_to", reply_to)) : null,
      variables: variables.map(({ name, type = "string", required = false, default: otherwise }) => ({
        ...{ name, type, required },
        default: otherwise ?? null,
      })),
    }
  }

  const unlessTaken = async <Result>(name: string, write: () => Promise<Result>): Promise<Result> => {
    try {
      return await write()
    } catch (error) {
      if (!isUniqueViolation(error, "templates_name")) throw error
      throw fault("name_taken", { resource: "template", name })
    }
  }

  const find = async (call: Call, id: string): Promise<TemplateRow> => {
    const row = await templateStore(call.db).find(call.tenant, id)
    if (!row) throw notFound(id)
    return row
  }

  /** What a project sends from and does not own is changed by those who are limited to no project. */
  const findToChange = async (call: Call, id: string): Promise<TemplateRow> => {
    const row = await find(call, id)
    if (row.project_id === null && !call.principal.organizationReach)
      throw fault("organization_reach_required")
    return row
  }

  const described = (call: Call, row: TemplateRow) => {
    call.describe({ targets: [{ type: "email_template", id: row.id, name: row.name }] })
    return toTemplate(row)
  }

  return {
    async listTemplates(input, call) {
      const { rows, total } = await templateStore(call.db).list(call.tenant, pageOf(input))
      return page({ rows: rows.map(toTemplate), total }, input)
    },

    async createTemplate(body, call) {
      const { organization, project, now, db } = call
      const made = await read(body, call)
      const row = {
        id: newId(),
        organization_id: organization.id,
        project_id: project?.id ?? null,
        version: 1,
        created_at: now,
        ...made,
      }
      await unlessTaken(body.name, () => templateStore(db).insert(row))
      return described(call, row)
    },

    getTemplate: async ({ id }, call) => toTemplate(await find(call, id)),

    async updateTemplate({ id, ...body }, call) {
      await findToChange(call, id)
      const made = await read(body, call)
      const store = templateStore(call.db)
      const row = await unlessTaken(body.name, () => store.replace(call.organization.id, id, made))
      if (!row) throw notFound(id)
      return described(call, row)
    },

    async deleteTemplate({ id }, call) {
      await findToChange(call, id)
      const row = await templateStore(call.db).delete(call.organization.id, id)
      if (!row) throw notFound(id)
      described(call, row)
      return { id, deleted: true }
    },

    async previewTemplate({ id, data = {} }, call) {
      const { variables, ...sources } = await find(call, id)
      const wrong = mistypedVariables(variables, data)
      if (wrong.length > 0) throw fault("invalid_parameter", { reason: `data has ${wrong.join(", ")}` })
      const { subject, html, text } = sources
      const rendered = await renderer.run(call.organization.id, {
        kind: "render",
        ...{ sources: { subject, html, text }, data: withDefaults(variables, data) },
      })
      return { ...rendered, html: rendered.html ?? "", missing: missingVariables(variables, data) }
    },
  }
}
