/** What this month used, against what the plan includes; who used it; what it costs. */
import { call } from "../../api.ts"
import { labelOf } from "../../derived/labels.ts"
import type { Surroundings } from "../../derived/request.ts"
import { href, setQuery } from "../../router.ts"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import { Tile } from "../../ui/tile.tsx"
import { Status, Time } from "../../ui/value.tsx"
import type { ScreenProps } from "../props.ts"

interface Meter {
  readonly service: string
  readonly metric: string
  readonly unit: string
  readonly used: number
  readonly included: number | null
}

interface Summary {
  readonly plan: string
  readonly period: { readonly start: string; readonly end: string }
  readonly requests: { readonly total: number; readonly errors: number }
  readonly services: readonly Meter[]
}

interface KeyRow {
  readonly key_id: string
  readonly name: string
  readonly prefix: string
  readonly status: string
  readonly requests: number
  readonly errors: number
  readonly last_used_at: string | null
}

interface Balance {
  readonly billing_mode: string
  readonly currency: string
  readonly available_micros: number
}

interface Cap {
  readonly cap_micros: number | null
  readonly action: string
  readonly spent_micros: number
}

interface Invoice {
  readonly id: string
  readonly number: string
  readonly status: string
  readonly total_micros: number
  readonly currency: string
  readonly issued_at: string
}

export const moneyOf = (micros: number, currency: string): string =>
  (micros / 1_000_000).toLocaleString("en", { style: "currency", currency, maximumFractionDigits: 2 })

const numberOf = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 2 })

/** Months back from this one, as the API names them. */
const monthsBack = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, back) => {
    const now = new Date()
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7)
  })

const MeterRow = ({ meter: { metric, unit, used, included } }: { readonly meter: Meter }) => {
  const share = included === null || included === 0 ? undefined : used / included
  return (
    <tr>
      <td>{labelOf(metric)}</td>
      <td className="right">{numberOf(used)}</td>
      <td className="right">
        {included === null ? <span className="none">no limit</span> : numberOf(included)}
      </td>
      <td className="soft">{unit}</td>
      <td>
        {share !== undefined && (
          <span className="share">
            <meter
              aria-label={`${labelOf(metric)} of the plan`}
              min={0}
              max={1}
              high={0.8}
              value={Math.min(1, share)}
            />
            <span className="number small">{Math.round(share * 100)} %</span>
          </span>
        )}
      </td>
    </tr>
  )
}

const Meters = ({ services }: Pick<Summary, "services">) => {
  const used = services.filter(({ used }) => used > 0)
  const others = services.length - used.length
  if (used.length === 0) return <p className="soft">Nothing was used in this month.</p>
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
      <section className="table" tabIndex={0} aria-label="Meters">
        <table>
          <thead>
            <tr>
              <th scope="col">Meter</th>
              <th scope="col" className="right">
                Used
              </th>
              <th scope="col" className="right">
                Included
              </th>
              <th scope="col">Unit</th>
              <th scope="col">Of the plan</th>
            </tr>
          </thead>
          <tbody>
            {used.map(meter => (
              <MeterRow key={`${meter.service} ${meter.metric}`} meter={meter} />
            ))}
          </tbody>
        </table>
      </section>
      <p className="soft small">{others} other meters are at nought.</p>
    </>
  )
}

const Keys = ({ keys }: { readonly keys: readonly KeyRow[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <section className="table" tabIndex={0} aria-label="Requests by key">
    <table>
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">State</th>
          <th scope="col" className="right">
            Requests
          </th>
          <th scope="col" className="right">
            Errors
          </th>
          <th scope="col">Last used</th>
        </tr>
      </thead>
      <tbody>
        {keys.map(({ key_id, name, status, requests, errors, last_used_at }) => (
          <tr key={key_id}>
            <td>
              <a href={href("api/getKeyUsage", { "f.key_id": key_id })}>{name}</a>
            </td>
            <td>
              <Status text={status} />
            </td>
            <td className="right">{requests.toLocaleString("en")}</td>
            <td className="right">{errors.toLocaleString("en")}</td>
            <td>{last_used_at ? <Time time={last_used_at} /> : <span className="none">never</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const Invoices = ({ invoices }: { readonly invoices: readonly Invoice[] }) =>
  invoices.length === 0 ? (
    <p className="soft">No invoice yet.</p>
  ) : (
    <ul className="rows">
      {invoices.map(({ id, number, status, total_micros, currency, issued_at }) => (
        <li key={id}>
          <a href={href("api/renderInvoiceHtml", { "f.invoice_id": id })}>{number}</a>
          <Status text={status} />
          <span className="number">{moneyOf(total_micros, currency)}</span>
          <Time time={issued_at} />
        </li>
      ))}
    </ul>
  )

/** A member whose role sees no money still sees what was used. */
const loadMoney = async (surroundings: Surroundings) => {
  const fields = { tenant_id: surroundings.organization }
  const options = { quiet: true }
  const [balance, cap, invoices] = await Promise.all([
    call<Balance>("getCreditBalance", fields, surroundings, options),
    call<Cap>("getSpendingCap", fields, surroundings, options),
    call<{ readonly data: readonly Invoice[] }>(
      "listInvoices",
      { ...fields, limit: 12 },
      surroundings,
      options,
    ),
  ])
  return { balance, cap, invoices: invoices.data }
}

const Money = ({ surroundings }: { readonly surroundings: Surroundings }) => {
  const loaded = useLoaded(`money ${surroundings.organization}`, () => loadMoney(surroundings))
  if (loaded.state === "loading") return <p className="soft">Loading …</p>
  if (loaded.state === "failed") return <Problem error={loaded.reason} />
  const { balance, cap, invoices } = loaded.value
  return (
    <>
      <ul className="tiles">
        <Tile
          title="Credit"
          note={balance.billing_mode === "credit" ? "spent as things are used" : "billed by month"}
        >
          {moneyOf(balance.available_micros, balance.currency)}
        </Tile>
        <Tile title="Spent this month">{moneyOf(cap.spent_micros, balance.currency)}</Tile>
        <Tile
          title="Cap"
          note={
            cap.cap_micros === null ? "" : cap.action === "stop" ? "calls stop there" : "you are told there"
          }
        >
          {cap.cap_micros === null ? "none" : moneyOf(cap.cap_micros, balance.currency)}
        </Tile>
      </ul>
      <p>
        <a href={href("api/setSpendingCap")}>Set a cap</a> ·{" "}
        <a href={href("api/createCreditTopupCheckout")}>Top up</a> ·{" "}
        <a href={href("api/getCreditLedger")}>Ledger</a> · <a href={href("api/listPrices")}>Prices</a>
      </p>
      <h2>Invoices</h2>
      <Invoices invoices={invoices} />
    </>
  )
}

export const UsagePage = ({ surroundings, query }: ScreenProps) => {
  const months = monthsBack(6)
  const month = query.get("month") ?? months[0] ?? ""
  const loaded = useLoaded(`usage ${surroundings.organization} ${month}`, async () => {
    const options = { quiet: true }
    const [summary, keys] = await Promise.all([
      call<Summary>("getUsageSummary", { month }, surroundings, options),
      call<{ readonly keys: readonly KeyRow[] }>("getKeysUsage", { month, limit: 50 }, surroundings, options),
    ])
    return { summary, keys: keys.keys }
  })
  return (
    <>
      <div className="head">
        <h1>Usage and billing</h1>
        <select
          className="narrow"
          aria-label="Month"
          value={month}
          onChange={event => setQuery({ month: event.target.value })}
        >
          {months.map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <a href={href("api/exportUsage")}>Export</a>
      </div>
      <h2>Money</h2>
      <Money surroundings={surroundings} />
      {loaded.state === "loading" && <p className="soft">Loading …</p>}
      <Problem error={loaded.state === "failed" ? loaded.reason : undefined} />
      {loaded.state === "ready" && (
        <>
          <h2>Used</h2>
          <p className="soft">
            Plan {loaded.value.summary.plan} · {loaded.value.summary.requests.total.toLocaleString("en")}{" "}
            requests, {loaded.value.summary.requests.errors.toLocaleString("en")} of them errors
          </p>
          <Meters services={loaded.value.summary.services} />
          <h2>By key</h2>
          {loaded.value.keys.length === 0 ? (
            <p className="soft">No key was used.</p>
          ) : (
            <Keys keys={loaded.value.keys} />
          )}
        </>
      )}
    </>
  )
}
