/** For the help of every command on the datastore. */
export const STORE_NOTE =
  "The datastore is the one of the environment, as for Typha: DATASTORE_TYPE (file, etcdv3, kubernetes), BULRUSH_DATASTORE_DIR, ETCD_ENDPOINTS and the other ETCD_ variables, KUBECONFIG; or BULRUSH_DATASTORE_CONFIG, a CalicoAPIConfig file that says all of it.";
