/** The requests that this page has sent, each as the curl that would send it again. */
import { type Call, calls } from "../calls.ts"
import { curlOf } from "../derived/request.ts"
import { Copy } from "../ui/copy.tsx"

const Line = ({ call }: { readonly call: Call }) => {
  const { sent, status, ms, requestId, at } = call
  const curl = curlOf(sent)
  return (
    <li>
      <details>
        <summary>
          <span className={`status ${status < 400 ? "good" : "bad"}`}>
            <span aria-hidden="true">{status < 400 ? "●" : "▲"}</span> {status}
          </span>
          <span className="method-name">{sent.method}</span>
          <code>{sent.path}</code>
          <span className="number soft">{ms} ms</span>
          <time className="soft" dateTime={new Date(at).toISOString()}>
            {new Date(at).toLocaleTimeString()}
          </time>
        </summary>
        <p className="soft">
          Request <code>{requestId}</code>
        </p>
        <div className="code-box">
          <Copy text={curl} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
          <pre tabIndex={0}>{curl}</pre>
        </div>
      </details>
    </li>
  )
}

export const Drawer = ({ onClose }: { readonly onClose: () => void }) => {
  const known = calls.use()
  return (
    <section className="drawer" aria-label="Requests">
      <div className="drawer-head">
        <h2>Requests</h2>
        <span className="soft small">What this page has sent since it was loaded</span>
        <button
          type="button"
          className="quiet small"
          onClick={() => calls.set([])}
          disabled={known.length === 0}
        >
          Clear
        </button>
        <button type="button" className="quiet small" onClick={onClose}>
          Close
        </button>
      </div>
      {known.length === 0 ? (
        <p className="soft">No request yet. Each one appears here with its curl.</p>
      ) : (
        <ol>
          {known.map(call => (
            <Line key={`${call.requestId} ${call.at}`} call={call} />
          ))}
        </ol>
      )}
    </section>
  )
}
