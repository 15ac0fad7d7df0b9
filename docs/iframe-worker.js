// Browsers refuse workers to pages that are opened from a folder. On these pages, the worker of the
// search is a hidden frame. The name of this file tells the plugin `offline` to load no other shim.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.scope = new Promise((resolve) => {
        frame.onload = () => {
          const scope = frame.contentWindow
          scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          const script = scope.document.createElement("script")
          script.src = url
          script.onload = () => resolve(scope)
          scope.document.head.append(script)
        }
      })
      document.body.append(frame)
    }

    async postMessage(data) {
      const scope = await this.scope
      scope.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
