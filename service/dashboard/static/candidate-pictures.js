// Pictures of candidates for charts on canvases: images of the service, which neither run nor load anything.
// @ts-check

const IMAGES = new Set(["image/svg+xml", "image/png"]);

export class CandidatePictures {
  /** @param {() => void} come called when a picture is there */
  constructor(come) {
    this.come = come;
    /** @type {Map<string, HTMLImageElement>} */
    this.images = new Map();
  }

  /** The picture of a candidate; null: there is none yet. @param {string} id @param {string | null} type */
  of(id, type) {
    if (!type || !IMAGES.has(type)) return null;
    const held = this.images.get(id);
    if (held) return held.complete && held.naturalWidth ? held : null;
    const image = new Image();
    image.addEventListener("load", () => this.come());
    image.src = `/v1/candidates/${id}/view`;
    this.images.set(id, image);
    return null;
  }
}
