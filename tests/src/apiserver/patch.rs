//! Merge patch (RFC 7386), and server-side apply as far as its users can tell: who applied which field owns it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Field managers by the JSON pointer of the field.
pub(super) type Owners = BTreeMap<String, String>;

/// Merges; `null` removes.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Applies what a manager says the object should be. What it applied before and no longer says goes; what another
/// manager owns with another value is a conflict, unless forced. Lists are taken as a whole.
pub(super) fn apply(
    object: &mut Value,
    applied: &Value,
    manager: &str,
    force: bool,
    owners: &mut Owners,
) -> Result<(), Vec<String>> {
    let mut wanted = BTreeMap::new();
    leaves(applied, String::new(), &mut wanted);
    let theirs = |pointer: &str| owners.get(pointer).is_some_and(|owner| owner != manager);
    let conflicts: Vec<String> = wanted
        .iter()
        .filter(|(pointer, value)| theirs(pointer) && object.pointer(pointer) != Some(value))
        .map(|(pointer, _)| pointer.clone())
        .collect();
    if !conflicts.is_empty() && !force {
        return Err(conflicts);
    }
    let dropped = owners.extract_if(.., |pointer, owner| {
        owner == manager && !wanted.contains_key(pointer)
    });
    for (pointer, _) in dropped {
        remove(object, &pointer);
    }
    for (pointer, value) in wanted {
        set(object, &pointer, value);
        owners.insert(pointer, manager.to_owned());
    }
    Ok(())
}

fn leaves(value: &Value, pointer: String, found: &mut BTreeMap<String, Value>) {
    match value.as_object() {
        Some(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{pointer}/{name}"), found);
            }
        }
        // An object without fields says nothing.
        Some(_) if pointer.is_empty() => {}
        _ => drop(found.insert(pointer, value.clone())),
    }
}

fn parts(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for part in parts(pointer) {
        if !place.is_object() {
            *place = Value::Object(serde_json::Map::new());
        }
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        place = fields.entry(part).or_insert(Value::Null);
    }
    *place = value;
}

fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, _)) = pointer.rsplit_once('/') else {
        return;
    };
    let name = parts(pointer).pop().unwrap_or_default();
    if let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        fields.remove(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fake_apiserver_merges_as_the_rfc_says() {
        let mut target = json!({"a": "b", "c": {"d": "e", "f": "g"}});
        merge(
            &mut target,
            &json!({"a": "z", "c": {"f": null}, "n": {"x": null}}),
        );
        assert_eq!(target, json!({"a": "z", "c": {"d": "e"}, "n": {}}));
    }

    #[test]
    fn fake_apiserver_apply_knows_whose_a_field_is() {
        let (mut object, mut owners) = (json!({}), Owners::new());
        let status = |ip: &str| json!({"status": {"loadBalancer": {"ingress": [{"ip": ip}]}}});
        apply(&mut object, &status("1"), "a", false, &mut owners).unwrap();
        apply(&mut object, &status("2"), "a", false, &mut owners).unwrap();
        assert_eq!(object, status("2"));
        let conflicts = apply(&mut object, &status("3"), "b", false, &mut owners).unwrap_err();
        assert_eq!(conflicts, ["/status/loadBalancer/ingress"]);
        apply(&mut object, &status("3"), "b", true, &mut owners).unwrap();
        assert_eq!(object, status("3"));
        apply(&mut object, &json!({}), "b", false, &mut owners).unwrap();
        assert_eq!(object, json!({"status": {"loadBalancer": {}}}));
    }
}
