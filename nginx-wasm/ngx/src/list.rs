//! nginx's lists of headers: linked arrays with stable element addresses, because other fields point to them.

use nginx_sys::{ngx_list_part_t, ngx_list_t, ngx_palloc, ngx_table_elt_t};

use crate::pool::OutOfMemory;

/// Capacity of a new array.
const CAPACITY: usize = 8;

/// The elements of a list, including those marked as removed (a hash of 0).
pub(crate) struct Elements {
    part: *const ngx_list_part_t,
    n: usize,
}

impl Elements {
    /// # Safety
    ///
    /// The list holds headers and is live as long as this and what it returns; nothing is removed meanwhile.
    pub(crate) unsafe fn new(list: *const ngx_list_t) -> Self {
        // SAFETY: the list is live by contract.
        let part = unsafe { &raw const (*list).part };
        Self { part, n: 0 }
    }
}

impl Iterator for Elements {
    type Item = *mut ngx_table_elt_t;

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the parts are live (`of`), and each has `nelts` elements.
        unsafe {
            while !self.part.is_null() {
                if self.n < (*self.part).nelts {
                    let element = (*self.part).elts.cast::<ngx_table_elt_t>().add(self.n);
                    self.n += 1;
                    return Some(element);
                }
                self.part = (*self.part).next;
                self.n = 0;
            }
        }
        None
    }
}

/// Removes an element. The others keep their addresses.
///
/// Keeps the invariants of nginx's own loops: only the first part may be empty, and the last part has capacity for
/// `nalloc` elements.
///
/// # Safety
///
/// The list holds headers and is live, and the element is of it.
pub(crate) unsafe fn remove(
    list: *mut ngx_list_t,
    element: *mut ngx_table_elt_t,
) -> Result<(), OutOfMemory> {
    // SAFETY: by contract; `before` is the part in front of `part`, or null.
    unsafe {
        let mut before: *mut ngx_list_part_t = std::ptr::null_mut();
        let mut part: *mut ngx_list_part_t = &raw mut (*list).part;
        while !part.is_null() {
            let elements: *mut ngx_table_elt_t = (*part).elts.cast();
            let position = (0..(*part).nelts).find(|n| elements.add(*n) == element);
            match position {
                Some(0) => return remove_first(list, before, part),
                Some(n) if n + 1 == (*part).nelts => {
                    (*part).nelts = n;
                    return Ok(());
                }
                Some(n) => return split(list, part, n),
                None => {}
            }
            before = part;
            part = (*part).next;
        }
    }
    Ok(())
}

unsafe fn remove_first(
    list: *mut ngx_list_t,
    before: *mut ngx_list_part_t,
    part: *mut ngx_list_part_t,
) -> Result<(), OutOfMemory> {
    // SAFETY: the part is of the list and has at least one element; `before` is the one in front of it, or null.
    unsafe {
        let is_last = (*list).last == part;
        if (*part).nelts > 1 {
            (*part).elts = (*part).elts.cast::<ngx_table_elt_t>().add(1).cast();
            (*part).nelts -= 1;
            if is_last {
                (*list).nalloc -= 1;
            }
        } else if !before.is_null() {
            (*before).next = (*part).next;
            if is_last {
                (*list).last = before;
                // Its capacity is not recorded; treat it as full.
                (*list).nalloc = (*before).nelts;
                if (*before).nelts == 0 {
                    return reallocate(list, before);
                }
            }
        } else if is_last {
            return reallocate(list, part);
        } else {
            (*part).nelts = 0;
        }
    }
    Ok(())
}

/// Allocates a new array for the last part, which loses its only element.
unsafe fn reallocate(list: *mut ngx_list_t, part: *mut ngx_list_part_t) -> Result<(), OutOfMemory> {
    // SAFETY: the list, its pool and the part are live; the array is as long as `nalloc` says.
    unsafe {
        let elements = ngx_palloc((*list).pool, CAPACITY * (*list).size);
        if elements.is_null() {
            return Err(OutOfMemory);
        }
        (*part).elts = elements;
        (*part).nelts = 0;
        (*list).nalloc = CAPACITY;
    }
    Ok(())
}

/// Removes element `n`, which is neither first nor last: those after it become a part of their own.
unsafe fn split(
    list: *mut ngx_list_t,
    part: *mut ngx_list_part_t,
    n: usize,
) -> Result<(), OutOfMemory> {
    // SAFETY: the part is of the live list and has more than `n + 1` elements; both halves keep the memory they had.
    unsafe {
        let rest: *mut ngx_list_part_t =
            ngx_palloc((*list).pool, size_of::<ngx_list_part_t>()).cast();
        if rest.is_null() {
            return Err(OutOfMemory);
        }
        rest.write(ngx_list_part_t {
            elts: (*part).elts.cast::<ngx_table_elt_t>().add(n + 1).cast(),
            nelts: (*part).nelts - n - 1,
            next: (*part).next,
        });
        (*part).nelts = n;
        (*part).next = rest;
        if (*list).last == part {
            (*list).last = rest;
            (*list).nalloc -= n + 1;
        }
    }
    Ok(())
}
