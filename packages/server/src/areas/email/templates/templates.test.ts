import assert from "node:assert/strict"
import { test } from "node:test"
import { SvcError } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, platform } from "../../../testing/platform.ts"

const refused = (call: Promise<unknown>, code: string, text?: RegExp) =>
  assert.rejects(call, error => {
    assert.ok(error instanceof SvcError, String(error))
    assert.equal(error.code, code)
    if (text) assert.match(error.message, text)
    return true
  })

test("a template is saved, changed, previewed, sent and deleted", async t => {
  const p = await platform(t)
  const svc = await p.wide("acme", ...everyScope)
  const template = await svc.email.createTemplate({
    name: "welcome",
    subject: "Hi {{ name }}",
    html: "<p>Hi {{ name }}, {{ items | size }} items{% for i in items %} {{ i }}{% endfor %}, {{ plan }}</p>",
    variables: [
      { name: "name", required: true },
      { name: "plan", default: "free" },
      { name: "items", type: "array" },
    ],
  })
  assert.equal(template.version, 1)
  await refused(svc.email.createTemplate({ name: "welcome", subject: "s", html: "h" }), "name_taken")

  const preview = await svc.email.previewTemplate({ id: template.id, data: { items: [1, 2] } })
  assert.deepEqual(preview.missing, ["name"])
  assert.equal(preview.html, "<p>Hi , 2 items 1 2, free</p>")

  const send = { template: "welcome", to: "ada@example.com" }
  await refused(svc.email.sendTransactional(send), "template_variable_missing", /name/)
  await refused(
    svc.email.sendTransactional({ ...send, data: { name: "A", items: "no" } }),
    "invalid_parameter",
    /items \(array\)/,
  )
  await refused(svc.email.sendTransactional({ ...send, template: "other" }), "template_not_found")
  const { id } = await svc.email.sendTransactional({ ...send, data: { name: "<b>Ada</b>\r\nBcc: x@y.z" } })
  const message = await svc.email.getMessage({ id })
  assert.equal(message.subject, "Hi <b>Ada</b> Bcc: x@y.z")
  assert.match(message.html ?? "", /Hi &lt;b&gt;Ada&lt;\/b&gt;/)
  assert.match(message.text ?? "", /free/)
  assert.equal(message.template, "welcome")

  const changed = await svc.email.updateTemplate({
    id: template.id,
    name: "welcome",
    subject: "Hello",
    html: "<p>Changed</p>",
    text: "Changed text",
  })
  assert.equal(changed.version, 2)
  assert.deepEqual(changed.variables, [])
  assert.equal((await svc.email.getTemplate({ id: template.id })).text, "Changed text")
  assert.equal((await svc.email.listTemplates({})).total, 1)
  assert.deepEqual(await svc.email.deleteTemplate({ id: template.id }), { id: template.id, deleted: true })
  await refused(svc.email.deleteTemplate({ id: template.id }), "template_not_found")
  const body = { id: template.id, name: "x", subject: "s", html: "h" }
  await refused(svc.email.updateTemplate(body), "template_not_found")
  await refused(svc.email.previewTemplate({ id: template.id }), "template_not_found")
})

test("MJML is compiled when it is saved, and names no file of this machine", async t => {
  const p = await platform(t)
  const svc = await p.wide("acme", ...everyScope)
  const text = "<mj-text>Hi {{ name }}</mj-text>"
  const mjml = (inner: string) =>
    `<mjml><mj-body><mj-section><mj-column>${inner}</mj-column></mj-section></mj-body></mjml>`
  const { id, html } = await svc.email.createTemplate({ name: "m", subject: "s", mjml: mjml(text) })
  assert.match(html, /<table/)
  const preview = await svc.email.previewTemplate({ id, data: { name: "Ada" } })
  assert.match(preview.html, /Hi Ada/)
  assert.match(preview.text, /Hi Ada/)

  const including = mjml(`${text}<mj-include path="/etc/passwd" type="html" />`)
  const included = await svc.email
    .createTemplate({ name: "i", subject: "s", mjml: including })
    .then(template => template.html, String)
  assert.doesNotMatch(included, /root:/)
  await refused(
    svc.email.createTemplate({ name: "b", subject: "s", mjml: "<mjml><mj-nonsense/></mjml>" }),
    "invalid_parameter",
  )
  await refused(svc.email.createTemplate({ name: "n", subject: "s" }), "missing_parameter")
})

test("hostile templates are refused or stopped, and the platform goes on", async t => {
  const p = await platform(t)
  const svc = await p.wide("acme", ...everyScope)
  const other = await p.wide("other", ...everyScope)
  const create = (name: string, html: string) => svc.email.createTemplate({ name, subject: "s", html })

  await refused(create("broken", "{% for %}"), "invalid_parameter", /the template cannot be used/)
  await refused(create("filter", "{{ 1 | nothing }}"), "invalid_parameter", /undefined filter/)

  const nested = "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}"
  const hostile: Record<string, string> = {
    loop: nested,
    memory: "{% assign a = 'x' %}{% for i in (1..100) %}{% assign a = a | append: a %}{% endfor %}{{ a }}",
    range: "{% assign a = (1..1000000000) | join: ',' %}{{ a }}",
    disk: "{% include '/etc/passwd' %}",
    render: "{% render '../../../package.json' %}",
    layout: "{% layout '/etc/passwd' %}",
  }
  for (const [name, html] of Object.entries(hostile)) {
    const outcome = await create(name, html)
      .then(
        ({ id }) => svc.email.previewTemplate({ id, data: {} }),
        (error: unknown) => Promise.reject(error),
      )
      .then(
        preview => preview.html,
        (error: unknown) => {
          assert.ok(error instanceof SvcError && error.code === "invalid_parameter", `${name}: ${error}`)
          return ""
        },
      )
    assert.doesNotMatch(outcome, /root:|dependencies/, name)
  }

  const prototypes = await create(
    "prototypes",
    "[{{ constructor }}][{{ x.__proto__ }}][{{ x.constructor.name }}][{{ x.toString }}][{{ process.env }}]",
  )
  const { html } = await svc.email.previewTemplate({ id: prototypes.id, data: { x: { own: 1 } } })
  assert.equal(html, "[][][][][]")

  const fine = await other.email.createTemplate({ name: "fine", subject: "s", html: "{{ n }}" })
  assert.equal((await other.email.previewTemplate({ id: fine.id, data: { n: 1 } })).html, "1")
})

test("a slow template of one organization does not hold up another's", async t => {
  const p = await platform(t)
  const slow = await p.wide("slow", ...everyScope)
  const quick = await p.wide("quick", ...everyScope)
  const loop = "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}"
  const { id } = await slow.email.createTemplate({ name: "loop", subject: "s", html: loop })
  const fine = await quick.email.createTemplate({ name: "fine", subject: "s", html: "fine" })
  const ended: string[] = []
  const slows = [1, 2, 3, 4].map(() =>
    slow.email
      .previewTemplate({ id })
      .catch(() => undefined)
      .then(() => ended.push("slow")),
  )
  await quick.email.previewTemplate({ id: fine.id }).then(() => ended.push("quick"))
  await Promise.all(slows)
  assert.ok(ended.indexOf("quick") <= 1, ended.join())
})

test("a template, a mail and a captured mail of another organization are as good as not there", async t => {
  const p = await platform(t)
  const mine = await p.wide("mine", ...everyScope)
  const other = await p.wide("other", ...everyScope)
  const template = await mine.email.createTemplate({ name: "t", subject: "s", html: "h" })
  await mine.email.sendTransactional({ template: "t", to: "a@example.com" })
  const item = await eventually("it comes about", async () => (await mine.email.listInbox({})).data[0])
  await refused(other.email.getTemplate({ id: template.id }), "template_not_found")
  const sent = { template: template.id, to: "a@example.com" }
  await refused(other.email.sendTransactional(sent), "template_not_found")
  await refused(other.email.getInbox({ id: item.id }), "resource_not_found")
  await refused(other.email.deleteInbox({ id: item.id }), "resource_not_found")
  await refused(other.email.getMessage({ id: item.email_id }), "resource_not_found")
  await refused(other.email.cancelMessage({ id: item.email_id }), "resource_not_found")
  assert.equal((await other.email.listInbox({})).total, 0)
  assert.equal((await other.email.listMessages({})).total, 0)
})
